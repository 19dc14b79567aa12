"""What becomes of a result: whether a gradient comes back from any of its uses, and whether all of them bear an infinity."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.proof.judge import CUT, NOT_DIFFERENTIABLE, is_polluted
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS
from stablelint.analysis.values.lists import elements_of, is_list, leaves
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.transfer import format_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind
from stablelint.syntax.names import bound_by, is_name, last_name, spelled
from stablelint.syntax.operations import PLACES, SELECTIONS, VIEWS, having
from stablelint.syntax.walk import children, descendants

_TESTS = CONDITIONS | FINITE_TESTS
_OF_ITS_SHAPE = having("like") & having("draw", "blank", "filled") - {"full_like"}
_READ_OUT = CUT | _TESTS | PLACES | _OF_ITS_SHAPE | {"item", "shape"}
_OF_NO_ELEMENT = frozenset("shape dtype device ndim size dim numel".split())
_BEARING = having("compare", "weigh") | PLACES
_EXPONENTIALS = frozenset(("exp", "exp2", "cosh"))
_SHAPES = _OF_ITS_SHAPE | having("size") | having("create") - {"full"}
_POWERS = having("exponential", "multiply")
_COMPARED, _WITH_POLES = having("compare"), having("singular") | {"div", "pow"}
_LARGE = 1e30  # beyond which no quotient of ordinary numbers by it is told from 0
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


def is_harmless_above(result: Value, frame: Frame, users: Users) -> bool:
    """Whether `inf` is as good as the exponential that it stands for, where no gradient comes back from it.

    It is larger than whatever it is compared with, and what is divided by it is 0, which has to be known as what it may be.
    """
    is_one = result.op in _EXPONENTIALS and result.kind not in (Kind.NUMBER, Kind.ARRAY)
    if not is_one or format_of(result).max < _LARGE:
        return False

    def finite(value: Value) -> bool:
        made_of = behind(value, lambda one: one.op in _SHAPES)
        return not any(is_polluted(one.interval) or _is_power(one) for one in made_of)

    def ends(user: Value) -> bool:
        if user.op == "div":
            poles = (one for one in users.get(user.key, ()) if one.op in _WITH_POLES)
            return finite(user.operands["input"]) and user.interval.contains(0.0) and not any(poles)
        is_compared = user.op in _COMPARED and any(map(finite, user.operands.values()))
        return is_compared or user.op in _SHAPES

    return _all_end(result, frame, users, ends, lambda value, used: _keeps_highest(value, finite))


def _is_power(value: Value) -> bool:
    """Whether a value may be too large where its operands are not: an exponential, a product of many."""
    return value.op in _POWERS or (value.op == "pow" and not value.operands["exponent"].is_constant)


def _keeps_highest(value: Value, finite: Callable[[Value], bool]) -> bool:
    """Whether an operation yields an infinity where its operand is one: a sum, a positive multiple, a lower bound."""
    if format_of(value).max < _LARGE:
        return False
    others = [one for one in value.operands.values() if finite(one)]
    if value.op in ("mul", "div"):
        is_divisor = value.op == "mul" or others == [value.operands["other"]]
        return is_divisor and len(others) == 1 and others[0].is_constant and others[0].interval.lo > 0
    if value.op in ("add", "sub"):
        return len(others) == 1
    return value.op in _SHIFTED | {"sqrt", "square"} or (value.op == "clamp" and "max" not in value.operands)


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
        if is_list(value):
            yield from keys_within(elements_of(value))


def _feels(value: Value) -> bool:
    """Whether a gradient comes back from what an operation yields."""
    first = value.first
    copied = value.op == "tensor" and first is not None and is_list(first)
    drawn = value.op == "method.sample" and first is not None and first.op.startswith("torch.distributions.")
    is_cut = copied or drawn or value.op in _READ_OUT or value.kind is Kind.ARRAY
    return passes_gradient(value) and not is_cut


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
    lists = _lists_in(nodes)
    given = [
        (o.value, [n for t in o.targets for n in bound_by(t)]) for o in nodes if isinstance(o, ast.Assign)
    ]
    given += [(added, [name]) for name, several in lists.items() for added in several]
    names, known = set[str](), -1
    while len(names) != known:
        known = len(names)
        own = (bound for value, bound in given if id(value) in carried or getattr(value, "id", None) in names)
        names.update(name for bound in own for name in bound)
    read = (n for n in nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load))
    others = {id(n) for name in names & lists.keys() for n in _read_afterwards(name, nodes)}
    places = [*(n for n in read if id(n) not in others), *(node for node in nodes if id(node) in carried)]
    seen = all(_is_operand(one, parents, followed, lists) for one in places)
    return seen and names.isdisjoint(function.declared)


def _lists_in(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """What is appended to the lists that a function makes empty under names that are bound to no others, by name."""
    stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    empty, read_out = Counter[str](), Counter[str]()
    for one in nodes:
        name = (
            getattr(one.targets[0], "id", "") if isinstance(one, ast.Assign) and len(one.targets) == 1 else ""
        )
        if name and isinstance(one, ast.Assign):
            empty[name] += isinstance(one.value, ast.List) and not one.value.elts
            read_out[name] += any(getattr(n, "id", "") == name for n in ast.walk(one.value))
    taken = {n.arg for n in nodes if isinstance(n, ast.arg)}
    found = {n: list[ast.expr]() for n in empty if empty[n] and stored[n] == empty[n] + read_out[n]}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            found.get(getattr(node.func.value, "id", ""), []).extend(node.args)
    return {name: added for name, added in found.items() if name not in taken}


def _read_afterwards(name: str, nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The places that read a name which stands for what was read out of it, and for nothing else: `x = torch.tensor(x)`."""
    for suite in (body for node in nodes if isinstance(body := getattr(node, "body", None), list)):
        for place, one in enumerate(suite):
            if (
                isinstance(one, ast.Assign)
                and getattr(one.targets[0], "id", "") == name != ast.unparse(one.value) != "[]"
            ):
                later = [n for s in suite[place + 1 :] for n in ast.walk(s) if is_name(n, name)]
                yield from later if all(isinstance(n.ctx, ast.Load) for n in later) else ()


def _is_operand(
    node: ast.AST, parents: Mapping[int, ast.AST], followed: Set[int], lists: Container[str]
) -> bool:
    """Whether an operation that was followed takes what a node gives, or a name or a list that is read likewise does."""
    above = parents.get(id(node))
    if isinstance(above, ast.Attribute) and above.attr in _OF_NO_ELEMENT:
        return True
    while isinstance(above, ast.Attribute | ast.keyword) and id(above) not in followed:
        above = parents.get(id(above))
    if isinstance(above, ast.List | ast.Tuple | ast.ListComp) and id(parents.get(id(above))) in followed:
        return not isinstance(above, ast.ListComp) or above.elt is node
    if isinstance(above, ast.Call) and id(above) not in followed:
        grows = isinstance(above.func, ast.Attribute) and above.func.attr == "append"
        return last_name(above.func) == "len" or (grows and spelled(above.func)[: -len(".append")] in lists)
    is_named = isinstance(above, ast.Assign) and all(isinstance(one, ast.Name) for one in above.targets)
    return id(above) in followed or is_named
