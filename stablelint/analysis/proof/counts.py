"""Counts that are at least 1 whatever the data: of a maximum's own elements, of what is left and what is taken."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

from stablelint.analysis.values.relations.alignment import unlaid
from stablelint.analysis.values.relations.maxima import extreme_of, own_maximum, rows_of, runs_over, stays
from stablelint.analysis.values.relations.pairs import meets_itself
from stablelint.analysis.values.transfer import held_in
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, recast, shown, stripped
from stablelint.syntax.operations import having

_REACHED = {
    "ge": frozenset("max amax mean median quantile".split()),
    "le": frozenset("min amin mean median quantile".split()),
    "eq": frozenset("max amax min amin".split()),
}
_MIRRORED = {"ge": "le", "le": "ge", "eq": "eq"}
_TOTALS = having("total") | {"count_nonzero"}
_LEAST = 2.0**-21  # of a count, in float16 too
_LENGTH = 8  # operations looked through


def is_counted(operand: Value) -> bool:
    """Whether a value counts, or sums up, something of which there is at least one by what it is made of."""
    return counts_its_extreme(operand) or _counting_itself(operand) is not None


def rests_on(operand: Value) -> Iterator[str]:
    """What must hold for something to be counted, in words; nothing where nothing need."""
    total = _counting_itself(operand)
    if total is None:
        yield from ["the mean is not rounded"] if _is_rounded(operand) else ()
        return
    test, weights = _marks(total)
    along = total.operands.get("dim")
    for one in weights if not stays(rows_of(total.operands)) else ():
        yield f"{one.name or 'what is multiplied'} has no more dimensions than its mask"
    pairs = test.operands.values() if test.op == "eq" else ()
    widened = [v for side in pairs for v in unlaid(side)[1] if v.op in ("unsqueeze", "index")]
    named = next((shown(v).name for v in widened if shown(v).name), "what is counted")
    if test.op == "scatter" and along is not None:
        yield f"{test.operands['index'].name or 'the index'} has an element in each row"
    elif test.op == "one_hot" and along is not None:
        classes = test.operands["input"].name or "what is one-hot"
        yield from [f"{classes} has one dimension"] if _number(along) != -1 else ()
    else:
        yield f"{named} has one dimension, and an element" if widened else "what is counted is not empty"


def _is_rounded(operand: Value) -> bool:
    """Whether a count is of the elements that reach their mean, which rounding may put beyond all of them."""
    tests = (v for v in behind(operand, lambda v: v.op in _MIRRORED) if v.op in _MIRRORED)
    return any(stripped(side).op == "mean" for test in tests for side in test.operands.values())


def counts_its_extreme(operand: Value) -> bool:
    """Whether a count is of the elements that reach the maximum of the very tensor, or a share of it."""
    total = _unscaled(operand)
    test = _summed(total) if total is not None else None
    return test is not None and total is not None and runs_over(rows_of(total.operands), _rows_met(test))


def _unscaled(operand: Value) -> Value | None:
    """What a value is a positive multiple of, or a part of by a count; None where 1 may be lost in what is left of it."""
    total, share = stripped(operand), 1.0
    for _ in range(_LENGTH):
        if total.op not in ("mul", "div") or len(total.operands) != 2:
            break
        first, second = total.operands.values()
        counted, scale = (second, first) if second.interval.contains(0.0) else (first, second)
        if not scale.interval.lo > 0:
            return None
        least = 1 / _largest(scale) if total.op == "div" and scale is second else scale.interval.lo
        is_count = scale.interval.integral and not scale.is_constant
        share *= 1.0 if is_count else least
        total = stripped(counted)
    return total if share >= _LEAST else None


def _largest(value: Value) -> float:
    """The upper end of a value; of a sum, of what it adds up for each that is counted."""
    if value.interval.hi < math.inf:
        return value.interval.hi
    inner = stripped(value)
    parts = inner.operands.values() if inner.op == "add" else filter(None, [_summed(inner)])
    return sum(_largest(part) for part in parts) or math.inf


def _summed(total: Value) -> Value | None:
    """What a sum, a mean or a count is taken of."""
    return stripped(total.first) if total.op in _TOTALS and total.first is not None else None


def meets_its_extreme(mask: Value) -> bool:
    """Whether a test compares a tensor with its own maximum, median or quantile, which some element reaches."""
    return _rows_met(stripped(mask)) is not None


def _rows_met(test: Value) -> Hashable:
    """The rows in each of which a test holds for some element, the extreme of that row; None where none need."""
    if test.op in ("gt", "ge") and test.operands["other"].interval.hi < 0:
        rows = _rows_below(recast(test.operands["input"]))
        return rows if test.operands["other"].kind is Kind.NUMBER or stays(rows) else None
    if test.op not in _MIRRORED or len(test.operands) < 2:
        return None
    left, right = (test.operands[name] for name in ("input", "other"))
    return _reached(left, test.op, right) or _reached(right, _MIRRORED[test.op], left)


def _reached(value: Value, comparison: str, bound: Value) -> Hashable:
    """The rows in which an element of `value` meets a comparison with a bound that is made of its own extremes."""
    inner = recast(bound)
    if inner.op in ("mul", "div") and comparison == "ge" and value.interval.lo >= 0:
        factor = inner.operands["other"].constant()
        number = factor if isinstance(factor, int | float) else 0.0
        if not 0 < (1 / number if inner.op == "div" and number else number) <= 1:
            return None
        inner = recast(inner.operands["input"])
    inner = stripped(inner, ("part",))
    found = (extreme_of(op, inner) for op in _REACHED[comparison])
    return next(
        (one.attained for one in found if one is not None and one.lies.is_shown and one.is_of(value)), None
    )


def _rows_below(difference: Value) -> Hashable:
    """The rows in which some element of a tensor less its own maximum, `x - x.max()`, is 0."""
    largest = own_maximum(difference.operands) if difference.op == "sub" else None
    return largest.attained if largest is not None and largest.lies.is_shown else None


def _number(value: Value | None) -> object:
    return value.constant() if value is not None else None


def _counting_itself(operand: Value) -> Value | None:
    """The sum in which a test counts an element that equals itself, or marks one, or adds up what is large enough there.

    A scatter of a positive literal marks one in each row of what is not negative, and so does `one_hot`.
    """
    total = _unscaled(operand)
    parts = total.operands.values() if total is not None and total.op == "add" else ()
    if parts and all(part.interval.lo >= 0 for part in parts):
        return next(filter(None, map(_counting_itself, parts)), None)
    if total is None or _summed(total) is None:
        return None
    test, _ = _marks(total)
    if test.op == "scatter":
        marked = test.operands.get("src") or test.operands.get("value")
        along, summed = (_number(v.operands.get("dim")) for v in (test, total))
        row = "dim" not in total.operands or (along is not None and along == summed)
        base = test.operands["input"]
        positive = marked is not None and marked.is_constant and held_in(base.dtype, marked.interval).lo > 0
        return total if positive and row and base.interval.lo >= 0 else None
    if test.op == "one_hot":
        return total if _number(total.operands.get("dim")) in (None, 1, -1) else None
    return total if test.op == "eq" and meets_itself(test) else None


def _marks(total: Value) -> tuple[Value, tuple[Value, ...]]:
    """The test of which a sum is taken, and what it is multiplied with, which is nowhere nearly 0."""
    test = _summed(total) or total
    if test.op == "mul" and len(test.operands) == 2:
        one, other = test.operands.values()
        for mask, weight in ((one, other), (other, one)):
            if weight.interval.lo >= _LEAST and not weight.interval.nan:
                return stripped(mask), (weight,)
    return test, ()
