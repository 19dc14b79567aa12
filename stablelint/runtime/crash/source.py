"""What the source around a failing line tells: names carried on, statements that write in place."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import torch

from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.program.carried import carried_names
from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS, owner_of
from stablelint.syntax.names import base_name
from stablelint.syntax.operations import VIEWING, having


def carried_name(filename: str, row: int, scope: dict[str, Any]) -> str | None:
    """The one name of the loop around the failing line that is read before it is assigned, and holds a tensor."""
    loop = loop_around(filename, row)
    if loop is None:
        return None
    names = carried_names(loop.body)
    carried = [one for one in sorted(names) if any(_has_graph(value) for value in _flat(scope.get(one)))]
    return carried[0] if len(carried) == 1 else None


def loop_around(filename: str, row: int) -> ast.For | ast.While | None:
    """The innermost loop around a line."""
    tree = parse_file(filename)
    loops = [
        one
        for one in (ast.walk(tree) if tree is not None else ())
        if isinstance(one, (ast.For, ast.While)) and one.lineno <= row <= (one.end_lineno or 0)
    ]
    return max(loops, key=lambda one: one.lineno, default=None)


def added_to(filename: str, name: str) -> Location | None:
    """The statement of a file that adds to a name, or to an attribute of that name."""
    tree = parse_file(filename)
    for one in ast.walk(tree) if tree is not None else ():
        match one:
            case ast.AugAssign(ast.Name(found) | ast.Attribute(_, found), ast.Add()) if found == name:
                return Location.of(one, filename)
    return None


def carried_attribute(at: Location, scope: dict[str, Any]) -> str | None:
    """The one attribute that a statement gives a value made of its old one: the statement at a place, or one of a graph."""
    found = set[str]()
    tree = parse_file(at.filename) or ast.Module([], [])
    for one in (one for one in ast.walk(tree) if isinstance(one, ast.Assign)):
        read = {ast.unparse(each) for each in ast.walk(one.value) if isinstance(each, ast.Attribute)}
        written = [
            each for target in one.targets for each in ast.walk(target) if isinstance(each, ast.Attribute)
        ]
        is_there = one.lineno <= at.row <= (one.end_lineno or 0)
        kept = [one for one in written if is_there or any(map(_has_graph, _flat(value_of(one, scope))))]
        found |= read & set(map(ast.unparse, kept))
    return found.pop() if len(found) == 1 else None


def statement_at(at: Location) -> ast.stmt | None:
    """The innermost statement in a line."""
    tree = parse_file(at.filename) or ast.Module([], [])
    found = (one for one in ast.walk(tree) if isinstance(one, ast.stmt))
    within = [one for one in found if one.lineno <= at.row <= (one.end_lineno or 0)]
    return max(within, key=lambda one: one.lineno, default=None)


def expression_at(at: Location) -> ast.expr | None:
    """The expression that is at a place."""
    tree = parse_file(at.filename) or ast.Module([], [])
    found = (one for one in ast.walk(tree) if isinstance(one, ast.expr) and one.lineno == at.row)
    return next((one for one in found if Location.of(one, at.filename).span == at.span), None)


def function_at(at: Location) -> ast.AST | None:
    """The innermost function around a line; None outside of all."""
    tree = parse_file(at.filename)
    around = [
        one
        for one in (ast.walk(tree) if tree is not None else ())
        if isinstance(one, FUNCTIONS) and one.lineno <= at.row <= (one.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.lineno, default=None)


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _has_graph(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


class Writer(NamedTuple):
    """A statement that writes in place, and which name of the line that kept a value shares the memory of another."""

    at: Location
    shared: tuple[str, str] | None = None


def writer_behind(kept: Location) -> Writer | None:
    """The first statement behind the line that kept a value which writes what that line names, or a view of it, in place."""
    tree = parse_file(kept.filename)
    if tree is None:
        return None
    scope: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= kept.row <= (node.end_lineno or 0):
            scope = node
    statements = [
        one for one in ast.walk(scope) if isinstance(one, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return))
    ]
    names = {
        one.id
        for statement in statements
        if statement.lineno <= kept.row <= (statement.end_lineno or 0)
        for one in ast.walk(statement)
        if isinstance(one, ast.Name)
    }
    shared = _sharing(scope, names)
    for statement in sorted(statements, key=lambda one: one.lineno):
        written = _written(statement) & {*names, *shared}
        if statement.lineno > kept.row and written:
            named = next((shared[one] for one in written - names), None)
            return Writer(Location.of(statement, kept.filename), named)
    again = (
        one for one in statements if one.lineno <= kept.row <= (one.end_lineno or 0) and _written(one) & names
    )
    found = next(again, None)  # in the next turn of its loop
    return Writer(Location.of(found, kept.filename)) if found is not None else None


def _sharing(scope: ast.AST, names: set[str]) -> dict[str, tuple[str, str]]:
    """The other names in a function whose tensors share the memory of some, by views: each with one of these."""
    pairs = set[tuple[str, str]]()
    for one in (one for one in ast.walk(scope) if isinstance(one, ast.Assign)):
        for target in one.targets:
            match target, one.value:
                case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                    both = [*zip(targets, values, strict=True)]
                case ast.Tuple(targets), _:
                    both = [(each, one.value) for each in targets]
                case _:
                    both = [(target, one.value)]
            pairs |= {(a.id, base_name(b)) for a, b in both if isinstance(a, ast.Name) and _is_view(b)}
    found: dict[str, tuple[str, str]] = {}
    waiting = [(one, one) for one in sorted(names)]
    for name, first in waiting:
        for further in {each for pair in pairs if name in pair for each in pair} - {"", *names, *found}:
            found[further] = (first, further)
            waiting.append((further, first))
    return found


def _is_view(value: ast.expr) -> bool:
    """Whether an expression gives the memory of the name that it begins with."""
    match value:
        case ast.Name():
            return True
        case ast.Subscript(owner, index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            return all(isinstance(one, ast.Slice | ast.Constant) for one in parts) and _is_view(owner)
        case ast.Attribute(owner, name):
            return name in VIEWING and _is_view(owner)
        case ast.Call(ast.Attribute(owner, method)):
            return method in having("alias") and _is_view(owner)
    return False


def _written(statement: ast.stmt) -> set[str]:
    """The names that a statement writes in place."""
    found: set[str] = set()
    match statement:
        case ast.AugAssign(target):
            found.add(base_name(target))
        case ast.Assign(targets):
            found |= {base_name(one) for one in targets if isinstance(one, ast.Subscript)}
    for node in ast.walk(statement):
        match node:
            case ast.Call(ast.Attribute(owner, method)) if method.endswith("_") and not method.startswith(
                "_"
            ):
                found.add(base_name(owner))
            case ast.Call(args=[first, *_], keywords=keywords) if any(_is_in_place(one) for one in keywords):
                found.add(base_name(first))
    return found - {""}


def _is_in_place(given: ast.keyword) -> bool:
    return given.arg == "inplace" and isinstance(given.value, ast.Constant) and given.value.value is True


def returned(function: Any) -> list[ast.expr]:
    """The expressions that a function of the program returns."""
    node = _syntax(function)
    inner = ast.walk(node) if node is not None else ()
    return [one.value for one in inner if isinstance(one, ast.Return) and one.value is not None]


def _syntax(function: Any) -> ast.AST | None:
    code = getattr(function, "__code__", None)
    tree = parse_file(code.co_filename) if code is not None and not is_library(code.co_filename) else None
    owner = owner_of(tree, code) if tree is not None and code is not None else None
    return owner[0] if owner is not None else None
