"""What the source around a failing line tells: names carried on, and what stands at a place."""

from __future__ import annotations

import ast
from typing import Any

import torch

from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.program.carried import carried_names
from stablelint.runtime.program.frames import is_library, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS, owner_of


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
    return max(loops_around(filename, row), key=lambda one: one.lineno, default=None)


def iterated_around(filename: str, row: int) -> list[ast.expr]:
    """What a line goes over, or takes the next one of: of `iter(…)`, of comprehensions, and of the loop around it."""
    held = [one for one in ast.walk(parse_file(filename) or ast.Module([], [])) if isinstance(one, ast.expr)]
    here = [one for one in held if one.lineno <= row <= (one.end_lineno or 0)]
    asked = [one for one in here if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    found = [given for one in asked if ast.unparse(one.func) == "iter" for given in one.args]
    found += [part.iter for one in here for part in getattr(one, "generators", ())]
    loop = loop_around(filename, row)
    return [*found, loop.iter] if isinstance(loop, ast.For) else found


def loops_around(filename: str, row: int) -> list[ast.For | ast.While]:
    """The loops around a line, the outermost first."""
    tree = parse_file(filename) or ast.Module([], [])
    loops = (one for one in ast.walk(tree) if isinstance(one, ast.For | ast.While))
    return [one for one in loops if one.lineno <= row <= (one.end_lineno or 0)]


def added_to(filename: str, name: str) -> Location | None:
    """The statement of a file that adds to a name, or to an attribute of that name."""
    for one in ast.walk(parse_file(filename) or ast.Pass()):
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
    return _around(at, FUNCTIONS)


def class_at(at: Location) -> ast.AST | None:
    """The innermost class around a line; None outside of all."""
    return _around(at, (ast.ClassDef,))


def _around(at: Location, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
    """The innermost node of some kinds around a line."""
    nodes = (one for one in ast.walk(parse_file(at.filename) or ast.Pass()) if isinstance(one, kinds))
    rows = {one.lineno: one for one in nodes if one.lineno <= at.row <= (one.end_lineno or 0)}  # type: ignore[attr-defined]
    return rows[max(rows)] if rows else None


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _has_graph(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def returned(function: Any) -> list[ast.expr]:
    """The expressions that a function of the program returns."""
    node = syntax_of(function)
    inner = ast.walk(node) if node is not None else ()
    return [one.value for one in inner if isinstance(one, ast.Return) and one.value is not None]


def syntax_of(function: Any) -> ast.AST | None:
    """The definition of a function of the program."""
    code = getattr(function, "__code__", None)
    tree = parse_file(code.co_filename) if code is not None and not is_library(code.co_filename) else None
    owner = owner_of(tree, code) if tree is not None and code is not None else None
    return owner[0] if owner is not None else None
