"""A loss computed anew on the first batch, by a copy of the model; the run itself is not touched."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn import functional

from stablelint.runtime.tensors.state import current_state


def detached(value: Any) -> Any:
    """`value` with copies of its tensors, cut from their graphs."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(detached(one) for one in value)
    if type(value) is dict:
        return {key: detached(one) for key, one in value.items()}
    return value


_Copied = TypeVar("_Copied")


class LossOnBatch:
    """The loss of one batch as a function of the model.

    Either the model's result has a `loss`, or a loss function took the model's output or a view of it.
    """

    def __init__(
        self,
        model: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        kind: str | None = None,
        arguments: dict[str, Any] | None = None,
        given: torch.Tensor | None = None,
        output: torch.Tensor | None = None,
    ) -> None:
        self.model = model
        self.args, self.kwargs = args, kwargs
        self._kind = kind
        self._arguments = detached(dict(arguments or {}))
        self._view = None
        if given is not None and output is not None and given is not output:
            self._view = tuple(given.shape), tuple(given.stride()), given.storage_offset()

    @property
    def best_constant(self) -> float | None:
        """The least loss of an output that is the same for all samples; None where that is not known."""
        target = self._arguments.get("target")
        if target is None or self._arguments.get("reduction") != "mean":
            return None
        if self._kind == "mse_loss":
            return float(target.float().var(0, correction=0).mean()) if target.dim() else None
        if self._kind == "cross_entropy" and not target.is_floating_point():
            kept = target[target != self._arguments["ignore_index"]]
            shares = kept.unique(return_counts=True)[1] / max(len(kept), 1)
            return float(-(shares * shares.log()).sum())
        return None

    def __call__(self, model: nn.Module, args: tuple[Any, ...] | None = None) -> torch.Tensor:
        """The loss of `model`, a copy of the watched one."""
        result = model(*(self.args if args is None else args), **self.kwargs)
        if self._kind is None:
            loss: torch.Tensor = result["loss"]
            return loss
        if not isinstance(result, torch.Tensor):
            result = next(iter(result.values() if isinstance(result, dict) else result))
        given = result if self._view is None else torch.as_strided(result, *self._view)
        value: torch.Tensor = getattr(functional, self._kind)(**{**self._arguments, "input": given})
        return value


@contextmanager
def undisturbed() -> Iterator[None]:
    """Afterwards the random generators stand where they stood."""
    state = current_state()
    try:
        with torch.enable_grad():
            yield
    finally:
        state.restore()


def copy_of(model: _Copied) -> _Copied | None:
    """A copy of a model, or of one with its optimizer, that shares nothing; None where it cannot be copied."""
    try:
        return copy.deepcopy(model)
    except Exception:  # whatever a module of the program raises there: then there is no copy
        return None
