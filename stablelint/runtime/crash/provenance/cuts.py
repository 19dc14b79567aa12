"""Where a value lost its graph: the expression that made it once more, of copies, operation by operation."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.crash.pure import is_known, only_computes
from stablelint.runtime.program.frames import is_library, resolve, site_of
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in

_COMPARISONS = ("gt", "ge", "lt", "le", "eq", "ne")
_TEXT = "<stablelint expression>"


@dataclass(frozen=True, slots=True)
class Cut:
    """An operation that was given a graph and gave a value without one."""

    operation: str
    at: Location | None  # None for the expression itself
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
        if has_graph and not made and isinstance(result, int | float | list) and not isinstance(result, bool):
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
        return Cut(name, _place(sys._getframe(2)), not torch.is_grad_enabled())


def cut_in(expression: ast.expr, scope: dict[str, Any]) -> Cut | None:
    """Where the value of an expression lost its graph; None where that cannot be told."""
    bound: dict[str, Any] = {}
    copied = _Copied(scope, bound).visit(ast.parse(ast.unparse(expression), mode="eval"))
    if copied is None or any(value is None for value in bound.values()):
        return None
    code, watch = compile(ast.fix_missing_locations(copied), _TEXT, "eval"), _Watch()
    try:
        with undisturbed(), torch.enable_grad(), watch:
            result = eval(code, {"__builtins__": {}}, bound)  # of modules and functions that only compute
    except Exception:  # what it was given is no longer what it was
        return None
    found = (watch.cuts[id(one)] for one in tensors_in(result) if id(one) in watch.cuts)
    return next(found, watch.number)


class _Copied(ast.NodeTransformer):
    """An expression with a copy in place of each value of the program; nothing where it calls the program's functions."""

    def __init__(self, scope: dict[str, Any], bound: dict[str, Any]) -> None:
        self._scope, self._bound = scope, bound

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Constant):
            value = value_of(node, self._scope)
            if value is not UNKNOWN:
                name = f"value{len(self._bound)}"
                self._bound[name] = _own(value)
                return ast.Name(name, ast.Load())
        if isinstance(node, ast.Name):
            self._bound[node.id] = None
        if isinstance(node, ast.Attribute) and (
            node.attr.endswith("_") or not hasattr(torch.Tensor, node.attr)
        ):
            self._bound[node.attr] = None
        return self.generic_visit(node)


def _own(value: Any) -> Any:
    """A copy of a value, a function of torch itself; None for what may do more than compute."""
    if isinstance(value, nn.Module):
        return copy_of(value)
    plain = isinstance(value, torch.Tensor | int | float | str | torch.dtype | torch.device | slice)
    if plain or isinstance(value, list | tuple | dict):
        return detached(value)
    return value if callable(value) and (is_known(value) or only_computes(value)) else None


def _place(frame: FrameType | None) -> Location | None:
    """The innermost place of the program up to the expression."""
    while frame is not None and frame.f_code.co_filename != _TEXT:
        if not is_library(frame.f_code.co_filename):
            return resolve(site_of(frame))
        frame = frame.f_back
    return None
