"""What parameters are called: as their module calls them, or else by their place in the optimizer."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping

import torch


class Names:
    """Names of parameters, without keeping a parameter alive."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}

    def learn(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take names; a tensor that has one keeps it."""
        for name, tensor in tensors.items():
            if self.get(tensor) is None:
                self._names[id(tensor)] = weakref.ref(tensor), name

    def get(self, tensor: torch.Tensor) -> str | None:
        """The name of `tensor`, if it has one."""
        known = self._names.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def in_order(self, tensors: Iterable[weakref.ref[torch.Tensor]]) -> list[str]:
        """A name for each tensor, by its place where it has none or is gone."""
        found = [self.get(one) if (one := reference()) is not None else None for reference in tensors]
        return [name or f"parameter {index}" for index, name in enumerate(found)]

    def with_own_names(self, tensors: Iterable[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Every tensor once, by a name of its own: two models may call their parameters alike."""
        named: dict[str, torch.Tensor] = {}
        seen: set[int] = set()
        for index, tensor in enumerate(tensors):
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            name = plain = self.get(tensor) or f"parameter {index}"
            number = 1
            while name in named:
                number += 1
                name = f"{plain} ({number})"
            named[name] = tensor
        return named


def parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Every parameter of every group, in the order of the optimizer."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def gradients_of(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The gradients of those parameters that have one."""
    return [gradient for parameter in parameters if (gradient := parameter.grad) is not None]
