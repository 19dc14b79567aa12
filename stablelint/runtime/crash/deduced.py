"""The shape, dtype and device of a value that has no name, computed anew by torch's code alone, without an element.

The operands of `self.norm(self.conv(x)) + x` are gone with the exception. Functions and modules of torch tell their shapes
on tensors of the device `meta`, which hold nothing, draw nothing and change nothing. Of the program's code only copies of
modules are called again, and functions that only compute.
"""

from __future__ import annotations

import ast
import inspect
import io
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.utils.data import TensorDataset

from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.crash.expression import UNKNOWN, value_of

_BUILTIN = ("torch", "torch._C._nn")


def is_builtin(called: Any) -> bool:
    """Whether this is a function of torch that is written in C++."""
    return isinstance(called, BuiltinFunctionType) and called.__module__ in _BUILTIN


def is_known(called: Any) -> bool:
    """Whether a callable of torch computes with tensors, or makes a layer or a data set, and does nothing else."""
    if called in (TensorDataset, float, int):
        return True
    if isinstance(called, type):
        return issubclass(called, nn.Module) and called.__module__.startswith("torch.nn.modules.")
    if isinstance(called, FunctionType) and called.__qualname__.startswith("Tensor."):
        return False  # backward, hooks, what is shared or saved
    name = getattr(called, "__name__", "set_")
    if isinstance(called, FunctionType) and called.__module__ == "torch.nn.utils.rnn":
        return True
    return called in _pure() or (is_builtin(called) and not name.startswith("set_"))


@cache
def _pure() -> frozenset[Any]:
    """The functions and methods that torch names as those of tensors."""
    found = torch.overrides.get_overridable_functions()
    known = [one for several in found.values() for one in several if callable(one)]
    return frozenset((*known, *map(inspect.unwrap, known)))  # some of which the guard watches


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_NUMBERS = (abs, float, int, len, max, min, round, sum)
_PLAIN: dict[str, Callable[..., Any]] = {one.__name__: one for one in _NUMBERS}
_HOLLOW: WeakKeyDictionary[nn.Module, nn.Module | None] = WeakKeyDictionary()  # the copies without elements
_MOST_ELEMENTS = 1 << 26  # of the parameters of a module that is copied
_HOMES = ("torch.nn.functional", "torch.functional")


def deduced(node: ast.expr, scope: dict[str, Any]) -> Any:
    """A number, or a tensor like the one that an expression gave, of one element in memory; None where it cannot be told."""
    try:
        with undisturbed(), torch.no_grad():
            found = value_without_elements(node, scope)
            if type(found) in (int, float, bool, torch.Size):
                return found
            devices = [*{one.device for one in _leaves(node, scope)}] or [torch.get_default_device()]
            parts = found if isinstance(found, tuple) else (found,)
            if all(isinstance(one, torch.Tensor) for one in parts) and len(devices) == 1:
                like = [
                    torch.empty((), dtype=one.dtype, device=devices[0]).expand(one.shape) for one in parts
                ]
                return tuple(like) if isinstance(found, tuple) else like[0]
    except Exception:  # whatever torch says of operands that do not fit here either
        return None
    return None


@contextmanager
def silenced() -> Iterator[None]:
    """Nothing is printed: what the program prints it has printed."""
    silence = io.StringIO()
    with redirect_stdout(silence), redirect_stderr(silence):
        yield


def without_hooks(module: nn.Module | None) -> nn.Module | None:
    """A copy of a module, that calls nothing of the program but its own methods."""
    for one in module.modules() if module is not None else ():
        one._forward_hooks.clear()
        one._forward_pre_hooks.clear()
    return module


def _leaves(node: ast.AST, scope: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors in an expression that have names, and whose elements its value is made of."""
    match node:
        case ast.Name() | ast.Attribute():
            value = value_of(node, scope)
            held = list(value.parameters())[:1] if isinstance(value, nn.Module) else [value]
            tensors = [one for one in held if isinstance(one, torch.Tensor)]
            yield from tensors
            if tensors:
                return
        case ast.Call(ast.Attribute(_, "size" | "dim" | "numel")):
            return
    inner = [node.value] if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node)
    for one in inner if not (isinstance(node, ast.Attribute) and node.attr == "shape") else ():
        yield from _leaves(one, scope)


def value_without_elements(node: ast.expr, scope: dict[str, Any]) -> Any:
    """The value of an expression, with tensors on `meta`; LookupError where only the program's code can tell."""
    match node:
        case ast.BinOp(left, operation, right) if type(operation) in _OPERATORS:
            return _OPERATORS[type(operation)](
                value_without_elements(left, scope), value_without_elements(right, scope)
            )
        case ast.Compare(
            left, [ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]
        ):
            # Any of them has its shape.
            return torch.eq(value_without_elements(left, scope), value_without_elements(right, scope))
        case ast.UnaryOp(ast.Invert(), operand):
            return ~value_without_elements(operand, scope)
        case ast.UnaryOp(ast.USub(), operand):
            return -value_without_elements(operand, scope)
        case ast.Tuple(parts):
            return tuple(value_without_elements(one, scope) for one in parts)
        case ast.List(parts):
            return [value_without_elements(one, scope) for one in parts]
        case ast.Slice():
            bounds = (node.lower, node.upper, node.step)
            return slice(*(None if one is None else value_without_elements(one, scope) for one in bounds))
        case ast.Subscript(value, index):
            return value_without_elements(value, scope)[value_without_elements(index, scope)]
        case ast.Attribute(value, name) if value_of(node, scope) is UNKNOWN:
            owner = value_without_elements(value, scope)
            if isinstance(owner, torch.Tensor) or type(owner).__module__ == "torch.return_types":
                return getattr(owner, name)
            raise LookupError
        case ast.Call(ast.Name(name), arguments, []) if name in _PLAIN and name not in scope:
            return _PLAIN[name](*(value_without_elements(one, scope) for one in arguments))
        case ast.Call(function, arguments, keywords):
            given = [value_without_elements(one, scope) for one in arguments]
            return _called(
                function,
                given,
                {str(one.arg): value_without_elements(one.value, scope) for one in keywords},
                scope,
            )
    found = value_of(node, scope)
    if found is UNKNOWN:
        raise LookupError
    return found.to("meta") if isinstance(found, torch.Tensor) else found


def _called(function: ast.expr, given: list[Any], named: dict[str, Any], scope: dict[str, Any]) -> Any:
    """What a method of a tensor, or a function or module of torch, returns."""
    if isinstance(function, ast.Attribute) and not function.attr.endswith("_"):
        with suppress(LookupError):
            owner = value_without_elements(function.value, scope)
            if isinstance(owner, torch.Tensor):
                return getattr(owner, function.attr)(*given, **named)
    called = value_of(function, scope)
    if isinstance(called, nn.Module):
        return _on_meta(called, given, named)
    if called is TensorDataset:
        return called(*given)
    home, name = getattr(called, "__module__", ""), getattr(called, "__name__", "_")
    if name.startswith("set_") or name.endswith("_") or not (home in _HOMES or is_builtin(called)):
        raise LookupError
    tensors = any(isinstance(one, torch.Tensor) for one in (*_flat(given), *named.values()))
    return called(*given, **(named if tensors else {**named, "device": "meta"}))


def _on_meta(called: Any, given: list[Any], named: dict[str, Any]) -> Any:
    """What a module gives, by a copy of it without elements, or a function that only computes."""
    if isinstance(called, nn.Module) and called not in _HOLLOW:
        large = sum(one.numel() for one in called.parameters()) > _MOST_ELEMENTS
        copied = None if large else without_hooks(copy_of(called))
        _HOLLOW[called] = copied.to("meta") if copied is not None else None
    hollow = _HOLLOW[called] if isinstance(called, nn.Module) else called
    if hollow is None:
        raise LookupError
    try:
        with silenced(), torch.device("meta"):
            return hollow(*given, **named)
    except Exception as error:
        if "meta" in str(error).lower() or not isinstance(error, RuntimeError):
            raise LookupError from error  # it asks for elements, or for more than operations of torch
        raise


def is_plain(module: nn.Module) -> bool:
    """Whether a module is one of torch, and calls no hook of the program."""
    hooked = module._forward_hooks or module._forward_pre_hooks
    return type(module).__module__.startswith("torch.nn.") and not hooked


def _flat(values: list[Any]) -> Iterator[Any]:
    for one in values:
        yield from one if isinstance(one, list | tuple) else (one,)
