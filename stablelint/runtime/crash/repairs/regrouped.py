"""Changes of views and joins before what failed, so that the samples keep a dimension of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import ismodule
from itertools import pairwise
from typing import Any

from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.provenance.history import history
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at
from stablelint.runtime.program.location import Location
from stablelint.syntax.operations import canonical

_MOST = 16  # operations before an operand
Reason = tuple[tuple[str, ...], tuple[tuple[str, Location], ...]]


def regrouped(scene: Scene) -> Iterator[tuple[Repair, Reason]]:
    """Calls that keep the samples, in place of those that do not, and what these do."""
    past = history(scene)
    for name in past.operands if past is not None else ():
        way = past.way(name, lambda _: True)[:_MOST] if past is not None else []
        for one, before in pairwise(way):
            node = expression_at(one.at) if one.at is not None and one.shape[:1] != before.shape[:1] else None
            if node is None or one.at is None:
                continue
            for anew in _keeping(one.operation, node, scene.globals_of(one.at.filename)):
                text, edit = ast.unparse(anew), Edit.of(node, one.at.filename, ast.unparse(anew))
                because = f"`{one.at.expression}` makes {one.shape} of {before.shape}"
                reason = (because,), (("the samples' dimension is lost here", one.at),)
                yield Repair(text, None, "view", revisions=(edit,), where=f" in line {one.at.row}"), reason


def _keeping(operation: str, node: ast.expr, names: dict[str, Any]) -> Iterator[ast.Call]:
    """Calls like one, which keep the first dimension."""
    match operation, node:
        case "squeeze", ast.Call(ast.Attribute(owner), []):
            yield ast.Call(ast.Attribute(owner, "squeeze"), [ast.Constant(-1)], [])
        case "view" | "reshape" | "flatten", ast.Call(ast.Attribute(owner)):
            yield ast.Call(ast.Attribute(owner, "flatten"), [ast.Constant(1)], [])
        case _, ast.Call(ast.Attribute(owner) as function, given, named):
            known = canonical(operation)
            taken = known.parameters if known is not None else ()
            place = taken.index("dim") - (not ismodule(value_of(owner, names))) if "dim" in taken else 0
            kept = [one for one in named if one.arg != "dim"]
            for dim in (1, -1) if "dim" in taken else ():
                yield ast.Call(function, given[:place], [*kept, ast.keyword("dim", ast.Constant(dim))])
