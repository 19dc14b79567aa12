"""Scopes: where an expression stands in the source, and what is known of its names there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, Subset

from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, value_of
from stablelint.runtime.crash.provenance.statements import (
    END,
    assignment,
    callee,
    default_of,
    in_class,
    located,
)
from stablelint.runtime.program.frames import compile_calmly, is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.syntax.operations import function, having, method

Argument = Callable[[str], "tuple[ast.expr, Scope] | None"]


def none_given(_: str) -> None:
    """Nothing is known of any argument."""
    return None


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its code, the values of names there as far as they are known, and what it was given."""

    code: CodeType
    names: dict[str, Any]
    before: int = END  # the row above which assignments count
    argument: Argument = field(default=none_given)

    def at(self, node: ast.expr) -> Location:
        """The place of an expression."""
        return Location.of(node, self.code.co_filename)

    def whole(self, node: ast.expr) -> Location:
        """The place of the assignment whose value an expression is, or else its own."""
        tree = parse_file(self.code.co_filename)
        found = (one for one in ast.walk(tree or node) if isinstance(one, ast.Assign) and one.value is node)
        statement = next(found, None)
        return self.at(node) if statement is None else located(statement, self.code.co_filename)


class Step(NamedTuple):
    """A place on the way of a value, and the expression there that gave it, as far as it is one."""

    at: Location
    value: ast.expr | None
    scope: Scope
    bare: bool = False  # a name, of which the next step tells more
    of_other: bool = False  # it gave another value, of which this one may have been made


def imported(name: str, scope: Scope) -> tuple[str, Scope] | None:
    """The name in another file of the program that a name of a file was imported from, and the top level there."""
    whole = ast.walk(parse_file(scope.code.co_filename) or ast.Pass())
    for node in (one for one in whole if isinstance(one, ast.ImportFrom)):
        for one in node.names:
            if name == (one.asname or one.name):
                path = "." * node.level + (node.module or "")
                with suppress(ImportError):
                    path = resolve_name(path, scope.names.get("__package__") or "")
                filename = getattr(sys.modules.get(path), "__file__", None) or ""
                own = filename in ("", scope.code.co_filename) or is_library(filename)
                tree = None if own else parse_file(filename)
                names = vars(sys.modules[path]) if tree is not None else {}
                if tree is not None and not isinstance(names.get(one.name), ModuleType):
                    return one.name, Scope(compile_calmly(tree, filename), names)
    return None


def given_to(call: ast.Call, called: tuple[FunctionType, object], scope: Scope) -> Argument:
    """What a call gives for each argument."""
    taker, owner = called
    bound = taker if owner is None or isinstance(owner, type) else taker.__get__(owner)
    given = given_by_name(call, scope.names, bound)

    def argument(name: str) -> tuple[ast.expr, Scope] | None:
        return (given[name], scope) if name in given and not isinstance(given[name], ast.Starred) else None

    return argument


def part_of(value: ast.expr, step: str) -> ast.expr | None:
    """The argument of a written-out call or list that holds layers in a row."""
    match value:
        case ast.Call(_, [ast.List(parts)]) | ast.Call(_, parts) if step.isdigit() and parts:
            several = next((i for i, one in enumerate(parts) if isinstance(one, ast.Starred)), len(parts))
            found = parts[min(int(step), several, len(parts) - 1)]
            last = int(step) > several and several < len(parts) - 1  # it may stand behind them
            found = found.value if isinstance(found, ast.Starred) and not last else found
            return found if isinstance(found, ast.Call) else None
    return None


def makes(call: ast.Call, scope: Scope, kind: type) -> bool:
    """Whether a call is one of a class."""
    return value_of(call.func, scope.names) is kind


def innermost(value: ast.expr, scope: Scope, kind: type) -> tuple[ast.expr, Scope]:
    """The one call of a class within an expression, or all of it."""
    calls = [one for one in ast.walk(value) if isinstance(one, ast.Call) and makes(one, scope, kind)]
    several = any(isinstance(one, ast.Starred) for one in ast.walk(value))
    return (calls[0] if len(calls) == 1 and not several else value), scope


def loaded(source: ast.expr, names: dict[str, Any]) -> tuple[Any, Any]:
    """The data set of a loader, or its class, and what collates its samples."""
    loader, data, collate = value_of(source, names), None, None
    if isinstance(loader, DataLoader):
        data, collate = loader.dataset, loader.collate_fn
    elif isinstance(source, ast.Call) and value_of(source.func, names) is DataLoader and source.args:
        given = {one.arg: value_of(one.value, names) for one in source.keywords}
        first = source.args[0]
        data, collate = value_of(first, names), given.get("collate_fn")
        if data is UNKNOWN and isinstance(first, ast.Call):
            data = value_of(first.func, names)
    while isinstance(data, Subset):
        data = data.dataset
    return data, collate


def _object(node: ast.expr, scope: Scope) -> Any:
    """The value of an expression, or the class of which it was made."""
    found = value_of(node, scope.names)
    if found is UNKNOWN and isinstance(node, ast.Name):
        made = getattr(assignment(scope.code, node.id, scope.before), "value", None)
        kind = value_of(made.func, scope.names) if isinstance(made, ast.Call) else UNKNOWN
        return kind if isinstance(kind, type) else UNKNOWN
    return found


def method_of(inner: ast.expr, name: str, scope: Scope) -> tuple[FunctionType, object] | None:
    """A method of the object that an expression is."""
    owner = _object(inner, scope)
    return callee(ast.Attribute(ast.Name("owner"), name), {"owner": owner}) if owner is not UNKNOWN else None


def field_of(inner: ast.expr, name: str, scope: Scope) -> tuple[object, ast.AST, CodeType] | None:
    """The object of an attribute, or the class of which it was made, and the statement there that gave it."""
    owner = _object(inner, scope)
    found = in_class(owner, name) if owner is not UNKNOWN else None
    return (owner, *found) if found is not None else None


def converted(node: ast.AST, names: dict[str, Any]) -> ast.expr | None:
    """What a call makes a tensor of, unless it tells the dtype itself."""
    match node:
        case ast.Call(called, [inner], []):
            made = value_of(called, names)
            found = function(f"{getattr(made, '__module__', '')}.{getattr(made, '__name__', '')}")
            return inner if found is not None and found.name == "tensor" else None
    return None


def cuts(node: ast.Subscript, scope: Scope) -> bool:
    """Whether a subscript gives a tensor of its own: part of another one, or its elements in another shape."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    spans = any(isinstance(one, ast.Slice) or ast.unparse(one) in ("None", "...") for one in indices)
    return spans or isinstance(value_of(node.value, scope.names), torch.Tensor)


def keeps_elements(name: str) -> bool:
    """Whether a method of tensors only cuts their graph, or moves them to a device."""
    found = method(name)
    return found is not None and found[0].name in having("cut", "device")


def value_in(node: ast.expr, scope: Scope) -> Any:
    """The value of an expression, of the arguments of its function as far as it is known what that was given."""
    unknown = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {*scope.names}
    return value_of(node, {**scope.names, **{name: of_argument(name, scope) for name in unknown}})


def of_argument(name: str, scope: Scope) -> Any:
    """What a function was given for an argument, or has for it by default, as far as it is known."""
    if (given := scope.argument(name)) is not None:
        return value_in(*given)
    default = default_of(parse_file(scope.code.co_filename) or ast.Module([], []), scope.code, name)
    return UNKNOWN if default is None else value_of(default, scope.names)
