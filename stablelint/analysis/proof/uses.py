"""What becomes of a result: whether a gradient comes back from any of its uses, and whether all of them bear an infinity."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.proof.judge import CUT, NOT_DIFFERENTIABLE
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.names import bound_by
from stablelint.syntax.operations import PLACES, SELECTIONS, VIEWS, having
from stablelint.syntax.walk import children, descendants

_TESTS = CONDITIONS | FINITE_TESTS
_READ_OUT = CUT | _TESTS | PLACES | {"item", "shape"}
_BEARING = having("compare", "weigh") | PLACES
_SHIFTED = VIEWS | SELECTIONS | having("join") | {"add", "index"}
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
    if result.key not in users or result.key in kept:
        return False
    carried, followed = {result.key: result}, set[int]()
    pending = [result]
    while pending:
        for user in users[pending.pop().key]:
            followed.add(id(user.node))
            if user.key in carried or ends(user):
                continue
            if user.key not in users or user.key in kept or not passes(user, carried.keys()):
                return False
            carried[user.key] = user
            pending.append(user)
    return frame.function is not None and _is_seen_whole(
        frame.function, {id(value.node) for value in carried.values()}, followed
    )


def _is_seen_whole(function: FunctionInfo, carried: Set[int], followed: Set[int]) -> bool:
    """Whether every place that reads one of the values, by a name or not, is an operand of an operation that was followed.

    What else takes it, a list or a call of which nothing is known, may keep it.
    """
    nodes = descendants(function.node)
    parents = {id(child): node for node in nodes for child in children(node)}
    given = [one for one in nodes if isinstance(one, ast.Assign)]
    names, known = set[str](), -1
    while len(names) != known:
        known = len(names)
        own = (one for one in given if id(one.value) in carried or getattr(one.value, "id", None) in names)
        names.update(name for one in own for target in one.targets for name in bound_by(target))
    read = (n for n in nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load))
    places = [*read, *(node for node in nodes if id(node) in carried)]
    return names.isdisjoint(function.declared) and all(_is_operand(one, parents, followed) for one in places)


def _is_operand(node: ast.AST, parents: Mapping[int, ast.AST], followed: Set[int]) -> bool:
    """Whether an operation that was followed takes what a node gives, or a name does."""
    above = parents.get(id(node))
    while isinstance(above, ast.Attribute | ast.keyword) and id(above) not in followed:
        above = parents.get(id(above))
    if isinstance(above, ast.List | ast.Tuple) and id(parents.get(id(above))) in followed:
        return True
    is_named = isinstance(above, ast.Assign) and all(isinstance(one, ast.Name) for one in above.targets)
    return id(above) in followed or is_named
