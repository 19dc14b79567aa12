"""The operands of an expression in a frame that an exception left: read, never computed by the program's code."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import operator
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MemberDescriptorType, ModuleType
from typing import Any

import torch
from torch import nn

from stablelint.runtime.program.frames import Site, parse_file, raw_position
from stablelint.runtime.program.nodes import call_that_ends_at, operands_of
from stablelint.syntax.operations import having, method

UNKNOWN = object()
_NUMBERS: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "len": len}
_DECIDED = (bool, int, float, str, type(None))
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_DEPTH = 2  # of configurations in configurations
_MOST_PICKED = 1 << 24  # elements of a tensor of which an index picks some
_PLAIN_INDEX = (int, slice, type(None), type(...), torch.Tensor)
_CONTAINERS = (list, tuple, dict, torch.Size, nn.Sequential, nn.ModuleList, nn.ModuleDict)
_PLAINLY = [one.__getitem__ for one in (list, tuple, dict, UserDict)]
# Methods of tensors that compute hardly more than a view.
_PURE = (having("layout", "copy", "cast") & having("alias", "may-alias")) | {
    "cpu", "long", "int", "bool", "mean", "sum", "abs",
}  # fmt: skip


def parsed(text: str) -> ast.expr | None:
    """A text as an expression; None where it is none."""
    with suppress(SyntaxError):
        return ast.parse(text, mode="eval").body
    return None


def node_at(site: Site) -> ast.expr | ast.stmt | None:
    """What has exactly the span of the instruction that failed, or the call that ends there."""
    row, end_row, column, end_column = raw_position(site.code, site.offset)
    tree = parse_file(site.code.co_filename)
    statement: ast.stmt | None = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.expr, ast.stmt)):
            extent = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
            if extent == (row, end_row, column, end_column):
                if isinstance(node, ast.expr):
                    return node
                statement = node
    return statement or call_that_ends_at(tree, end_row, end_column)


def operands(
    node: ast.AST | None,
    scope: dict[str, Any],
    otherwise: Callable[[ast.expr, dict[str, Any]], torch.Tensor | None] | None = None,
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that an operation takes, with the text of each; `otherwise` is asked for what has no value any more."""
    for one in _items(operands_of(node)):
        value, text = value_of(one, scope), ast.unparse(one)
        if value is UNKNOWN and otherwise is not None:
            value = otherwise(one, scope)
        several = type(value) in (list, tuple)
        for index, item in enumerate(value if several else [value]):
            if isinstance(item, torch.Tensor):
                yield f"{text}[{index}]" if several else text, item


def _items(operands: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Operands, and instead of a list or tuple that is written out what it holds."""
    for one in operands:
        yield from one.elts if isinstance(one, (ast.List, ast.Tuple)) else (one,)


def value_of(node: ast.expr, scope: dict[str, Any]) -> Any:
    """The value that an expression had, where that can be told without the program's code; else a mark."""
    match node:
        case ast.Name(name):
            return scope.get(name, UNKNOWN)
        case ast.Constant(value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, (int, float)):
            return -value
        case ast.Call(ast.Name("float" | "int" | "len" as name), [argument], []) if name not in scope:
            given = value_of(argument, scope)
            if isinstance(given, int | float | str) or (name == "len" and type(given) in _CONTAINERS):
                with suppress(TypeError, ValueError, OverflowError):
                    return _NUMBERS[name](given)
        case ast.Attribute(value, name):
            return _attribute(value_of(value, scope), name)
        case ast.Subscript(value, index):
            whole, key = value_of(value, scope), value_of(index, scope)
            parts = key if isinstance(key, tuple) else (key,)
            plain = isinstance(whole, torch.Tensor) and whole.numel() <= _MOST_PICKED
            plain = plain and all(isinstance(one, _PLAIN_INDEX) for one in parts)
            if plain or (_holds_plainly(whole, key) and isinstance(key, (int, str, slice))):
                with suppress(LookupError, TypeError, RuntimeError):
                    return whole[key]
        case ast.Tuple(parts):
            values = tuple(value_of(one, scope) for one in parts)
            return UNKNOWN if any(one is UNKNOWN for one in values) else values
        case ast.Slice(lower, upper, step):
            bounds = [None if one is None else value_of(one, scope) for one in (lower, upper, step)]
            return UNKNOWN if any(one is UNKNOWN for one in bounds) else slice(*bounds)
        case ast.Call(ast.Attribute(value, name), arguments, []) if _is_pure(name):
            tensor, taken = value_of(value, scope), [value_of(one, scope) for one in arguments]
            if isinstance(tensor, torch.Tensor) and all(type(one) in (int, torch.dtype) for one in taken):
                try:
                    with torch.no_grad():
                        return getattr(tensor, name)(*taken)
                except (RuntimeError, TypeError, IndexError):
                    return UNKNOWN
    return UNKNOWN


def decided(test: ast.expr, scope: dict[str, Any]) -> bool | None:
    """Whether a condition of numbers, texts and None holds; None where that cannot be told without the program's code."""
    match test:
        case ast.UnaryOp(ast.Not(), inner):
            found = decided(inner, scope)
            return None if found is None else not found
        case ast.Compare(left, [operation], [right]) if type(operation) in _COMPARED:
            sides = value_of(left, scope), value_of(right, scope)
            known = all(isinstance(one, _DECIDED) for one in sides)
            with suppress(TypeError):
                return bool(_COMPARED[type(operation)](*sides)) if known else None
    value = value_of(test, scope)
    return bool(value) if isinstance(value, _DECIDED) else None


def given_by_name(call: ast.Call, names: dict[str, Any], called: Any = UNKNOWN) -> dict[str, ast.expr]:
    """What a call gives for each argument of what it calls, which may be known already."""
    named = {one.arg: one.value for one in call.keywords if one.arg}
    called = value_of(call.func, names) if called is UNKNOWN else called
    try:
        taken = inspect.signature(
            called.forward if isinstance(called, nn.Module) else called
        ).parameters.values()
    except (TypeError, ValueError):
        return named
    placed = [one.name for one in taken if one.kind is not one.VAR_POSITIONAL]
    return {**dict(zip(placed, call.args, strict=False)), **named}


def entries(held: object) -> Mapping[str, Any]:
    """What a configuration holds, by name."""
    if isinstance(held, dict):
        return {key: one for key, one in held.items() if isinstance(key, str)}
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        return {one.name: getattr(held, one.name, None) for one in dataclasses.fields(held) if one.init}
    plain = isinstance(held, nn.Module | torch.Tensor | ModuleType | type) or callable(held)
    return {} if plain else getattr(held, "__dict__", {})


def called_so(name: str, value: object, scope: dict[str, Any], near: set[str]) -> Iterator[ast.expr]:
    """What has a value in a scope and is called as an argument is, or further; of names that are `near` first."""
    found, wanted = list[tuple[bool, int, bool, str]](), {*name.split("_")}
    waiting = [(key, key, held, 0) for key, held in [*scope.items()][::-1] if key[:1] != "_"]
    for text, key, held, depth in waiting:
        if type(held) is type(value) and held == value and wanted <= {*key.split("_")}:
            found.append((key != name, depth, text.split(".")[0].split("[")[0] not in near, text))
        inner = entries(held) if depth < _DEPTH else {}
        way = "{}[{!r}]" if isinstance(held, dict) else "{}.{}"
        waiting += [(way.format(text, one), one, each, depth + 1) for one, each in inner.items()]
    yield from (ast.parse(text, mode="eval").body for *_, text in sorted(found, key=lambda one: one[:3]))


def member(name: str, path: str) -> str:
    """A module or a parameter at a path, as a program writes it: `net[1].weight`."""
    return name + "".join(f"[{one}]" if one.isdigit() else f".{one}" for one in path.split(".") if one)


def _holds_plainly(whole: Any, key: Any) -> bool:
    """Whether a container gives an item without code of the program, and makes none."""
    kind = type(whole)
    plain = kind in _CONTAINERS or getattr(kind, "__getitem__", None) in _PLAINLY
    return plain and (not hasattr(kind, "__missing__") or key in whole)


def _is_pure(name: str) -> bool:
    found = method(name)
    return found is not None and found[0].name in _PURE and not found[1]


def _attribute(value: Any, name: str) -> Any:
    if isinstance(value, torch.Tensor):
        return getattr(value, name) if name in ("T", "mT", "data", "grad", "shape") else UNKNOWN
    if isinstance(value, torch.nn.Module):
        for table in (value._parameters, value._buffers, value._modules):
            if name in table:
                return table[name]
    held = getattr(value, "__dict__", {})
    if name in held:
        return held[name]
    of_class = inspect.getattr_static(type(value), name, UNKNOWN)  # a default; nothing that is computed
    if isinstance(of_class, MemberDescriptorType) or name in getattr(type(value), "_fields", ()):
        return getattr(value, name, UNKNOWN)  # a slot, or a field of a named tuple
    return of_class if isinstance(of_class, int | float | str | tuple | list | dict) else UNKNOWN
