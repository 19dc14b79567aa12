"""Principles about quotients of two figures: which of them are 0 for data that do not arise, or tell of it loudly."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stablelint.analysis.matching.places import is_objective
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import NORMS
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

_SPREADS = NORMS | {"std", "var"}
_STARTS = frozenset("const zeros zeros_like".split())
_COUNTS = frozenset("sum count_nonzero numel size item len".split())
_GROUPED = frozenset("scatter_add index_add scatter_sum scatter_reduce".split())
_GATHERS = frozenset("index gather index_select".split())
_GIVEN = frozenset("argument attribute unknown item part".split())
_LENGTH = 8  # operations looked through


def _is_relative_figure(site: Site, operand: Value) -> bool:
    """A norm or a spread by another is a relative error: outside of a loss or a module it is looked at by people."""
    function = site.frame.function
    if site.value.op != "div" or function is None or function.owner is not None:
        return False
    if is_objective(function):
        return False
    return _is_spread(operand) and _is_spread(site.value.operands["input"])


def _is_spread(value: Value, depth: int = _LENGTH) -> bool:
    """Whether a value is a norm, a spread, or a power of one, on any path."""
    inner = stripped(value)
    if inner.op in _SPREADS:
        return True
    if inner.op not in ("phi", "pow", "sqrt") or not depth:
        return False
    bases = inner.operands.values() if inner.op == "phi" else [inner.operands["input"]]
    return any(_is_spread(base, depth - 1) for base in bases)


def _is_turns(site: Site, operand: Value) -> bool:
    """How often a loop turned, how long a list is, is 0 only where there was nothing to do.

    It is told where the function guards another such quotient, and so has met the empty case; and of what a condition
    has selected.
    """
    if operand.kind is not Kind.NUMBER or site.value.op != "div" or operand.interval.is_point:
        return False
    return _counts_turns(operand, _LENGTH) and not _guards_another(site)


def _counts_turns(value: Value, depth: int) -> bool:
    """Whether a Python number is the length of a sequence, or is made of literals alone, by adding up."""
    inner = stripped(value)
    if inner.op == "len":
        return inner.first is not None and not _is_filtered(inner.first)
    if inner.is_constant:
        return True
    if inner.op in ("math.sqrt", "phi", "add", "mul") and depth:
        return all(_counts_turns(v, depth - 1) for v in inner.operands.values() if v.zero is Ground.EXACT)
    return False


def _is_filtered(value: Value) -> bool:
    """Whether a list is what a condition has left of another."""
    node = value.node
    return isinstance(node, ast.ListComp) and any(part.ifs for part in node.generators)


def _guards_another(site: Site) -> bool:
    """Whether a test of the function asks whether something else that it divides by is 0."""
    function = site.frame.function
    if function is None:
        return False
    tests = [n.test for n in descendants(function.node) if isinstance(n, ast.If | ast.IfExp)]
    asked = {n.id for test in tests for n in descendants(test) if isinstance(n, ast.Name)}
    divisors = (n.right for n in descendants(function.node) if isinstance(n, ast.BinOp))
    return any(isinstance(right, ast.Name) and right.id in asked for right in divisors)


def _is_running_total(site: Site, operand: Value) -> bool:
    """What a loop adds up over its turns is 0 only where every turn adds nothing."""
    if site.value.op != "div" or operand.interval.is_point:
        return False
    terms = list(_terms(operand, set()))
    starts = [v for v in terms if v.op in _STARTS]
    return 0 < len(starts) < len(terms) and all(_is_term(v) for v in terms) and not _guards_another(site)


def _terms(value: Value, seen: set[int]) -> Iterator[Value]:
    """What is added up, on any path, and what the sum starts from."""
    inner = stripped(value)
    if inner.key in seen:
        return
    seen.add(inner.key)
    if inner.op == "phi" or (
        inner.op == "add" and any(_is_begun(v, _LENGTH) for v in inner.operands.values())
    ):
        for part in inner.operands.values():
            yield from _terms(part, seen)
    else:
        yield inner


def _is_begun(value: Value, depth: int) -> bool:
    """Whether a value is a sum that starts from 0."""
    inner = stripped(value)
    if inner.op in ("phi", "add") and depth:
        return any(_is_begun(v, depth - 1) for v in inner.operands.values())
    return inner.op in _STARTS


def _is_term(value: Value) -> bool:
    return value.op in _STARTS or value.op in _COUNTS


def _is_weighted_group(site: Site, operand: Value) -> bool:
    """The weighted mean of a group, the sums of which one index gathers: nobody reads that of a group with no member."""
    if site.value.op != "div":
        return False
    total, weights = stripped(site.value.operands["input"]), stripped(operand)
    weighted, weight = _gathered(total), _gathered(weights)
    if weighted is None or weight is None or weighted[1] != weight[1] or weighted[0].op != "mul":
        return False
    return any(stripped(factor).key == weight[0].key for factor in weighted[0].operands.values())


def _is_own_group(site: Site, operand: Value) -> bool:
    """The sum of a group, gathered by the index that dealt its members out, holds the member that it divides."""
    gathered = stripped(operand)
    if site.value.op != "div" or gathered.op not in _GATHERS or gathered.first is None:
        return False
    group, index = _gathered(stripped(gathered.first)), gathered.operands.get("index")
    if group is None or index is None:
        return False
    (source, dealt), gathering = group, _made_of(index)
    same = source.key == stripped(site.value.operands["input"]).key
    return same and bool(gathering) and gathering <= dealt


def _gathered(value: Value) -> tuple[Value, frozenset[int]] | None:
    """What a grouped sum adds up, and the keys of what its index, whatever its shape, is made of."""
    source = value.operands.get("src") or value.operands.get("source")
    index = value.operands.get("index")
    if value.op not in _GROUPED or source is None or index is None:
        return None
    return stripped(source), _made_of(index)


def _made_of(index: Value) -> frozenset[int]:
    return frozenset(v.key for v in behind(index, _is_shape) if v.op in _GIVEN)


def _is_shape(value: Value) -> bool:
    return value.op in ("shape", "size") or value.op in _GIVEN


def _is_exceeded(site: Site, operand: Value) -> bool:
    """What a test has found larger than another count, or a length than its bound, is not 0.

    So it is in `if step < warmup: return step / warmup`, and in `if norm > bound: x *= bound / norm`.
    """
    function, name = site.frame.function, site.texts.get(site.judgement.operand)
    is_counted = operand.kind is Kind.NUMBER or operand.interval.lo >= 0
    if function is None or not is_counted or not name:
        return False
    branches = [n for n in descendants(function.node) if isinstance(n, ast.If | ast.IfExp)]
    return any(_exceeds(branch.test, name) and _holds(branch, site.node) for branch in branches)


def _exceeds(test: ast.expr, name: str) -> bool:
    """Whether a test is `x < name` or `name > x`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    larger = {ast.Lt: test.comparators[0], ast.Gt: test.left}.get(type(test.ops[0]))
    return larger is not None and ast.unparse(larger) == name


def _holds(branch: ast.If | ast.IfExp, node: ast.AST) -> bool:
    """Whether a node is in what is done where the test holds."""
    bodies = branch.body if isinstance(branch.body, list) else [branch.body]
    return any(inner is node for body in bodies for inner in descendants(body))


DOUBTS_BY_RATIO: tuple[Callable[[Site, Value], bool], ...] = (
    _is_relative_figure,
    _is_turns,
    _is_running_total,
    _is_weighted_group,
    _is_own_group,
    _is_exceeded,
)
