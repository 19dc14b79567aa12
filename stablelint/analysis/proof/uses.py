"""What becomes of a result: whether a gradient comes back from any of its uses, and whether all of them bear an infinity."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

from stablelint.analysis.proof.judge import CUT, NOT_DIFFERENTIABLE
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.names import bound_by
from stablelint.syntax.operations import SELECTIONS, VIEWS, having
from stablelint.syntax.walk import descendants, nodes_below

_TESTS = CONDITIONS | FINITE_TESTS
_PLACES = frozenset({"argmax", "argmin", "argsort"})
_READ_OUT = CUT | _TESTS | _PLACES | {"item", "shape"}
_BEARING = having("compare") | _PLACES | frozenset("exp exp2 softmax logsumexp logaddexp sigmoid".split())
_SHIFTED = VIEWS | SELECTIONS | {"add", "index"}
# What keeps a value, or hands it on, out of sight of the operations.
_HOLDERS = (
    ast.Dict,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Lambda,
    ast.Yield,
    ast.FunctionDef,
)
Users = Mapping[int, Sequence[Value]]
"""The operations by the key of what they are given."""


def users_of(observed: Iterable[Value]) -> Users:
    """The operations among `observed` by the keys of their operands, on every path and within tuples."""
    table: dict[int, list[Value]] = {}
    for value in observed:
        for key in set(keys_within(value.operands.values())) - {value.key}:
            table.setdefault(key, []).append(value)
    return table


def passes_gradient(value: Value) -> bool:
    """Whether a gradient comes back through an operation, whatever it is of."""
    return value.op not in CUT and value.dtype not in NOT_DIFFERENTIABLE


def is_cut_off(result: Value, frame: Frame, users: Users) -> bool:
    """Whether all that is made of a result ends in what has no gradient: the place of a maximum, a test, a number."""
    return _all_end(result, frame, users, lambda v: not _feels(v), lambda v, used: True)


def is_harmless_below(result: Value, frame: Frame, users: Users) -> bool:
    """Whether all that is made of a result takes `-inf` for what it is: no weight, no place, less than any number."""
    return _all_end(result, frame, users, lambda v: v.op in _BEARING, _keeps_lowest)


def _keeps_lowest(value: Value, used: Set[int]) -> bool:
    """Whether an operation yields `-inf` where its operand is that: a sum, a positive multiple, an upper bound."""
    if value.op in ("mul", "div"):
        factors = list(value.operands.values())[value.op == "div" :]
        return any(factor.is_constant and factor.interval.lo > 0 for factor in factors)
    if value.op == "sub":
        return used.isdisjoint(keys_within([value.operands["other"]]))
    return value.op in _SHIFTED or (value.op == "clamp" and "min" not in value.operands)


def keys_within(values: Iterable[Value]) -> Iterator[int]:
    """The keys of values on every path, and of what tuples hold."""
    for value in values:
        yield from (leaf.key for leaf in leaves(value))
        if value.kind is Kind.SEQUENCE:
            yield from keys_within(value.data)


def _feels(value: Value) -> bool:
    """Whether a gradient comes back from what an operation yields."""
    return passes_gradient(value) and value.op not in _READ_OUT and value.kind is not Kind.ARRAY


def _all_end(
    result: Value,
    frame: Frame,
    users: Users,
    ends: Callable[[Value], bool],
    passes: Callable[[Value, Set[int]], bool],
) -> bool:
    """Whether each use of a result, and of what `passes` it on, `ends` it; what is kept or left unread has other uses."""
    kept = set(keys_within((*frame.returns, *frame.state.attributes.values())))
    carried = {result.key: result}
    pending = [result]
    while pending:
        value = pending.pop()
        used = users.get(value.key, ())
        if value.key in kept or not used:
            return False
        for user in used:
            if user.key in carried or ends(user):
                continue
            if not passes(user, carried.keys()):
                return False
            carried[user.key] = user
            pending.append(user)
    return not _is_held([value.node for value in carried.values()], frame)


def _is_held(nodes: Collection[ast.AST | None], frame: Frame) -> bool:
    """Whether a name that is given one of the values is read where its reader is no operation that was followed."""
    if frame.function is None:
        return True
    body, found = frame.function.node, {id(node) for node in nodes}
    given = (one for one in nodes_below(body, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr))
    giving = (one for one in given if any(id(part) in found for part in descendants(one)))
    names = {name for one in giving for part in descendants(one) for name in bound_by(part)}
    inside = (part for one in nodes_below(body, *_HOLDERS) for part in descendants(one))
    return any(id(part) in found or (isinstance(part, ast.Name) and part.id in names) for part in inside)
