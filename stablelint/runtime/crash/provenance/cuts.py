"""Where a value lost its graph: the expression that made it once more, in a copy of the process."""

from __future__ import annotations

import ast
import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.rest import bound
from stablelint.runtime.process.confined import confine
from stablelint.runtime.process.copies import can_copy, said_by_copy
from stablelint.runtime.program.frames import resolve, site_of, user_frame
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in

_COMPARISONS = ("gt", "ge", "lt", "le", "eq", "ne")
_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Cut:
    """An operation that was given a graph and gave a value without one."""

    operation: str
    at: Location | None
    disabled: bool  # whether gradients were disabled there


@dataclass
class _Watch(TorchFunctionMode):
    """Remembers which tensors are made of what was cut off, and where."""

    kept: list[torch.Tensor] = field(default_factory=list)  # so that no identity is given twice
    cuts: dict[int, Cut] = field(default_factory=dict)
    number: Cut | None = None  # the first that left torch as a number

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given, made = list(tensors_in((args, kwargs))), list(tensors_in(result))
        has_graph = any(one.requires_grad for one in given)
        if has_graph and not made and isinstance(result, float | list):
            self.number = self.number or self._cut(func)
        if made and not any(one.requires_grad for one in made):
            before = (self.cuts[id(one)] for one in given if id(one) in self.cuts)
            cut = self._cut(func) if has_graph else next(before, None)
            if cut is not None:
                self.kept += made
                self.cuts.update((id(one), cut) for one in made)
        return result

    @staticmethod
    def _cut(func: Any) -> Cut:
        name = getattr(func, "__name__", "")
        if name == "__get__":  # of a property of tensors
            name = getattr(getattr(func, "__self__", None), "__name__", name)
        name = "the comparison" if name in _COMPARISONS else name
        return Cut(name, _place(), not torch.is_grad_enabled())


def cut_in(frame: Frame, expression: ast.expr) -> Cut | None:
    """Where the value of an expression of a frame loses its graph; None where that cannot be told."""

    def work() -> bytes:
        torch.set_num_threads(1)
        confine(os.devnull)
        run, watch = bound(frame, [ast.copy_location(ast.Return(expression), expression)]), _Watch()
        with torch.enable_grad(), watch:
            result = run()
        found = (watch.cuts[id(one)] for one in tensors_in(result) if id(one) in watch.cuts)
        return pickle.dumps(next(found, watch.number))

    said = said_by_copy(work, _SECONDS) if can_copy() else b""
    cut: Cut | None = pickle.loads(said) if said else None
    return cut


def _place() -> Location | None:
    """The innermost place of the program."""
    frame = user_frame()
    return resolve(site_of(frame)) if frame is not None else None
