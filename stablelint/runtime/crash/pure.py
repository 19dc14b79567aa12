"""Which functions of the program only compute: they may be called once more, on copies of what they were given."""

from __future__ import annotations

import ast
import builtins
import inspect
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.program.frames import is_library, parse_file

_MOST_NESTED = 3
_OWN_LIST = object()  # for a list that a function made
_BUILTIN = ("torch", "torch._C._nn")
_PLAIN = ("abs", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "range", "reversed",
          "round", "sorted", "str", "sum", "tuple", "zip")  # fmt: skip
_WRITES = (
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
    ast.With,
    ast.Import,
    ast.ImportFrom,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
)


def only_computes(function: Any, nested: int = 0) -> bool:
    """Whether a function of the program writes nothing but its own names, and calls nothing that may do more."""
    if (
        not isinstance(function, FunctionType)
        or is_library(function.__code__.co_filename)
        or nested > _MOST_NESTED
    ):
        return False
    node, names = _syntax(function), {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    parts = list(ast.walk(node)) if node is not None else []
    own = (one.targets[0] for one in parts if isinstance(one, ast.Assign) and isinstance(one.value, ast.List))
    names |= {one.id: _OWN_LIST for one in own if isinstance(one, ast.Name)}
    return node is not None and all(_is_harmless(one, names, nested) for one in parts)


def _syntax(function: FunctionType) -> ast.AST | None:
    """The function, or the one lambda that its line holds."""
    tree, first = parse_file(function.__code__.co_filename), function.__code__.co_firstlineno
    kinds = ast.FunctionDef | ast.Lambda
    found = [
        one
        for one in (ast.walk(tree) if tree is not None else ())
        if isinstance(one, kinds)
        and one.lineno == first
        and getattr(one, "name", "<lambda>") == function.__name__
    ]
    return found[0] if len(found) == 1 and not getattr(found[0], "decorator_list", ()) else None


def _is_harmless(node: ast.AST, names: dict[str, Any], nested: int) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
            return False
        case ast.AugAssign(target):
            return isinstance(target, ast.Name)
        case ast.Call(ast.Name(name)) if name not in names:
            return name in _PLAIN and hasattr(builtins, name)
        case ast.Call(ast.Attribute(ast.Name(name), "append")) if names.get(name) is _OWN_LIST:
            return True
        case ast.Call(called):
            known = value_of(called, names)
            if known is UNKNOWN and isinstance(called, ast.Attribute):
                return (
                    hasattr(torch.Tensor, called.attr)
                    and not called.attr.endswith("_")
                    and called.attr != "backward"
                )
            return _is_of_torch(known) or only_computes(known, nested + 1)
    return not isinstance(node, _WRITES)


def _is_of_torch(called: Any) -> bool:
    name = getattr(called, "__name__", "_")
    home = str(getattr(called, "__module__", "")).partition(".")
    return (
        home[0] in ("torch", "math")
        and not name.endswith("_")
        and not name.startswith(("set_", "manual", "save", "load"))
    )


def is_builtin(called: Any) -> bool:
    """Whether this is a function of torch that is written in C++."""
    return isinstance(called, BuiltinFunctionType) and called.__module__ in _BUILTIN


def is_known(called: Any) -> bool:
    """Whether a callable of torch computes with tensors, or makes a layer or a data set, and does nothing else."""
    if called is TensorDataset:
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
    return frozenset(one for several in found.values() for one in several if callable(one))
