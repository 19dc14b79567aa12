"""A loss computed anew on the first batch, by a copy of the model; the run itself is not touched."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map_only

from stablelint.runtime.audit.values import rows_differ
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tensors.state import current_state

View = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides and offset
_Copied = TypeVar("_Copied")


def detached(value: Any) -> Any:
    """`value` with copies of its tensors, cut from their graphs."""
    return tree_map_only(
        torch.Tensor, lambda one: one.detach().clone().requires_grad_(one.requires_grad), value
    )


def view_of(tensor: torch.Tensor, output: torch.Tensor) -> View | None:
    """How `tensor` looks at an output; None where it is the output itself."""
    if tensor is output:
        return None
    return tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())


@dataclass(slots=True)
class LossOnBatch:
    """The loss of one batch as a function of the model.

    Either the model's result holds its loss, or a loss function took the model's output or a view of it.
    """

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    kind: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    view: View | None = None

    def __post_init__(self) -> None:
        self.arguments = detached({name: one for name, one in self.arguments.items() if name != "input"})

    @property
    def best_constant(self) -> float | None:
        """The least loss of an output that is the same for all samples; None where that is not known, or the best."""
        target, options = self.arguments.get("target"), self.arguments
        if target is None or options.get("reduction") != "mean" or not rows_differ(target):
            return None
        if self.kind == "mse_loss":
            return float(target.float().var(0, correction=0).mean())
        plain = options.get("weight") is None and not options.get("label_smoothing")
        if self.kind == "cross_entropy" and plain and not target.is_floating_point():
            counts = target[target != options["ignore_index"]].unique(return_counts=True)[1]
            return float(torch.special.entr(counts / counts.sum()).sum())
        return None

    def __call__(self, model: nn.Module) -> torch.Tensor:
        """The loss of `model`, a copy of the watched one."""
        result = model(*self.args, **self.kwargs)
        if self.kind is None:
            return next(loss_in(result))
        if not isinstance(result, torch.Tensor):
            result = next(iter(result.values() if isinstance(result, dict) else result))
        given = result if self.view is None else torch.as_strided(result, *self.view)
        value: torch.Tensor = getattr(functional, self.kind)(**{**self.arguments, "input": given})
        return value


def loss_in(result: Any) -> Iterator[torch.Tensor]:
    """The numbers with a graph that a model returns, such as its loss."""
    return (one for one in tensors_in(result) if not one.dim() and one.requires_grad)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Afterwards the random generators stand where they stood; what is computed meanwhile warns of nothing again."""
    state = current_state()
    try:
        with torch.enable_grad(), warnings.catch_warnings(action="ignore"):
            yield
    finally:
        state.restore()


def copy_of(model: _Copied) -> _Copied | None:
    """A copy of a model, or of one with its optimizer, that shares nothing; None where it cannot be copied."""
    try:
        return copy.deepcopy(model)
    except Exception:  # whatever a module of the program raises there: then there is no copy
        return None
