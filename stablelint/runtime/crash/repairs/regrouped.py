"""Views and joins before what failed: so that samples keep a dimension, and masks are as long as what they mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import ismodule
from itertools import pairwise
from typing import Any

from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import operands, value_of
from stablelint.runtime.crash.provenance.history import History, Past, history
from stablelint.runtime.crash.repairs.constructors import line_of
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.failing import Call, called
from stablelint.runtime.crash.repairs.onward import as_written
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at
from stablelint.runtime.program.location import Location
from stablelint.syntax.operations import canonical, having

_MOST = 16  # operations before an operand
_IGNORED = -100  # the label of which losses of torch ask nothing
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
                yield Repair(text, None, "view", revisions=(edit,), where=line_of(scene, edit)), reason


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


def extended(scene: Scene) -> Iterator[tuple[Repair, Reason]]:
    """Operands padded where another one was joined, and that join."""
    past, call, user = history(scene), called(scene), scene.user
    if past is None or call is None:
        return
    written = operands(scene.node, user.names, deduced)
    shown = [scene.operand(tensor, name, user) for name, tensor in written]
    for long, short in ((one, other) for one in shown for other in shown if one is not other):
        value = _of_what_is_new(call, short)
        for join in past.way(long.name, lambda _: True)[:_MOST] if value is not None else ():
            for padding in _paddings(past, join, long, short):
                template = f"F.pad({{}}, {padding}{f', value={value}' if value else ''})"
                parts = " and ".join(str(past.pasts[one].shape) for one in join.given)
                told = f"{long.name}: {join.shape} of {parts}, and {short.name} stays as it was"
                reason = (), ((told, join.at),) if join.at is not None else ()
                yield from ((one, reason) for one in as_written(scene, short, template, "size"))


def _paddings(past: History, join: Past, long: Operand, short: Operand) -> Iterator[tuple[int, ...]]:
    """How an operand is padded as another was joined."""
    parts = [past.pasts[one].shape for one in join.given] if join.operation in having("join") else []
    for axis, whole in enumerate(join.shape):
        sizes = [one[axis] for one in parts if len(one) == len(join.shape)]
        if sum(sizes) != whole or whole not in long.shape or whole in short.shape:
            continue
        for part, size in enumerate(sizes):
            for place in (place for place, one in enumerate(short.shape) if one == size):
                behind = (0, 0) * (len(short.shape) - 1 - place)
                yield *behind, sum(sizes[:part]), sum(sizes[part + 1 :])


def _of_what_is_new(call: Call, operand: Operand) -> int | None:
    """What an operand says of places that are not masked, or have no label; None where it says more of them."""
    name = getattr(call.function, "__name__", "")
    if call.is_loss:
        return _IGNORED if operand.dtype == "int64" else None
    hides = isinstance(call.function, nn.Module) or "fill" in name
    return (0 if hides else 1) if operand.dtype == "bool" else None
