"""Changes of views and joins before what failed, so that the samples keep a dimension of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from stablelint.runtime.crash.provenance.history import history
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at
from stablelint.runtime.program.location import Location

_MOST = 16  # operations before an operand
_Reason = tuple[tuple[str, ...], tuple[tuple[str, Location], ...]]


def regrouped(scene: Scene) -> Iterator[tuple[Repair, _Reason]]:
    """Calls that keep the samples, in place of those that do not, and what these do."""
    past = history(scene)
    for name in past.operands if past is not None else ():
        way = past.way(name, lambda _: True)[:_MOST] if past is not None else []
        for one, before in pairwise(way):
            node = expression_at(one.at) if one.at is not None and one.shape[:1] != before.shape[:1] else None
            anew = _keeping(one.operation, node)
            if node is not None and one.at is not None and anew is not None:
                text, edit = ast.unparse(anew), Edit.of(node, one.at.filename, ast.unparse(anew))
                because = f"`{one.at.expression}` makes {one.shape} of {before.shape}"
                reason = (because,), (("the samples' dimension is lost here", one.at),)
                yield Repair(text, None, "view", revisions=(edit,), where=f" in line {one.at.row}"), reason


def _keeping(operation: str, node: ast.expr | None) -> ast.Call | None:
    """A call like one, which keeps the first dimension."""
    match operation, node:
        case "squeeze", ast.Call(ast.Attribute(owner), []):
            return ast.Call(ast.Attribute(owner, "squeeze"), [ast.Constant(-1)], [])
        case "view" | "reshape" | "flatten", ast.Call(ast.Attribute(owner)):
            return ast.Call(ast.Attribute(owner, "flatten"), [ast.Constant(1)], [])
        case "cat" | "concat", ast.Call(function, [joined, *_]):
            return ast.Call(function, [joined], [ast.keyword("dim", ast.Constant(1))])
    return None
