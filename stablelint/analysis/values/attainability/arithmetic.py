"""Sums, differences, products and quotients: when two operands make a 0 together."""

from __future__ import annotations

import math

from stablelint.analysis.values.attainability.selection import spoken_of
from stablelint.analysis.values.relations.maxima import difference, is_span_on_a_path
from stablelint.analysis.values.relations.pairs import are_all_pairs
from stablelint.analysis.values.relations.vanishing import vanish_together
from stablelint.analysis.values.value import Attained, Value
from stablelint.analysis.values.views import is_same, stripped
from stablelint.numerics.interval import TOP, Interval

_TINY = 1e-2  # what is added to keep a number off 0, and not for its own sake
_DRAWS = frozenset({"rand", "rand_like"})


def combined(op: str, a: Value, b: Value, interval: Interval) -> tuple[Attained, Attained]:
    """What `add`, `sub`, `mul` and `div` make of the attainability of their two operands."""
    ends = min(a.ends, b.ends)
    constant = a.is_constant or b.is_constant
    if op == "mul":
        if ends >= Attained.SATURATION and not constant and _are_related(a, b):
            ends = Attained.COINCIDENCE  # p * log(p): one factor is small where the other is large
        return max(a.zero, b.zero), ends
    if op == "div":
        # A quotient of related values seldom comes to the ends that interval division gives it.
        return a.zero, ends if b.is_constant else min(ends, Attained.COINCIDENCE)
    if interval.lo < 0.0 < interval.hi and _one_sided(a) and _one_sided(b) and not constant:
        ends = min(ends, Attained.COINCIDENCE)  # a difference of two sizes changes sign only by their values
    if not interval.contains(0.0):
        return Attained.NONE, ends
    if op == "sub" and is_same(a, b):
        return Attained.EXACT, Attained.EXACT if interval.is_point else Attained.COINCIDENCE
    if vanish_together(a, b) or (op == "sub" and _meet(a, b)):
        return Attained.EXACT, ends
    if interval == TOP or (math.isinf(interval.lo) and math.isinf(interval.hi)):
        return Attained.NONE, ends
    attained = _of_sum(a, b, ends) if op == "add" else _of_difference(a, b, ends)
    if attained is not None:
        return attained
    if interval.lo == 0.0 or interval.hi == 0.0:
        return ends, ends
    return min(Attained.COINCIDENCE, ends), ends


def vanishes_beside_nan(value: Value) -> bool:
    """Whether what may be NaN comes to 0 elsewhere: `hits / (hits + misses)` is 0 where there are misses alone."""
    inner = stripped(value)
    if not inner.interval.nan:
        return True
    if inner.operands.keys() != {"input", "other"}:
        return False
    one, other = inner.operands.values()
    if inner.op == "div":
        whole = stripped(other)
        parts = list(whole.operands.values()) if whole.op == "add" else []
        rest = [part for part in parts if not is_same(part, one)]
        return len(parts) == 2 and len(rest) == 1 and rest[0].interval.hi > 0 and not one.interval.nan
    return inner.op in ("add", "mul") and vanishes_beside_nan(one) and vanishes_beside_nan(other)


def _meet(a: Value, b: Value) -> bool:
    """Whether two values agree somewhere by what they are, and their difference is 0 there."""
    return (
        are_all_pairs(a, b)
        or _is_mean_of(b, a)
        or is_span_on_a_path(a, b)
        or _is_number_on_a_path(a, b)
        or _is_number_on_a_path(b, a)
    )


def _of_sum(a: Value, b: Value, ends: Attained) -> tuple[Attained, Attained] | None:
    if _is_lifted_share(a, b):
        return min(a.zero, Attained.COINCIDENCE), min(ends, Attained.COINCIDENCE)
    if a.interval.lo >= 0 and b.interval.lo >= 0:
        drawn = stripped(a).op in _DRAWS and stripped(b).op in _DRAWS and a.key != b.key
        return min(a.zero, b.zero, Attained.COINCIDENCE if drawn else Attained.EXACT), ends
    return None


def _of_difference(a: Value, b: Value, ends: Attained) -> tuple[Attained, Attained] | None:
    if b.is_constant and a.interval.lo == b.interval.lo:
        return min(a.ends, Attained.COINCIDENCE), ends  # n - 1 of a count that is at least 1
    if math.isfinite(a.interval.hi) and a.is_constant:
        return b.ends, ends
    if difference("sub", {"input": a, "other": b}, {}) is not None:
        return Attained.EXACT, max(ends, Attained.COINCIDENCE)
    return None


def _is_number_on_a_path(number: Value, value: Value) -> bool:
    """Whether one of the paths that meet in a value brings the very number: `1 - (x if test else 1)`."""
    joined = stripped(value)
    if not number.is_constant or joined.op != "phi":
        return False
    return any(stripped(path).interval == number.interval for path in joined.operands.values())


def _is_mean_of(mean: Value, value: Value) -> bool:
    """Whether what is left of a value without its mean is 0 for a row of equal elements."""
    inner = stripped(mean)
    return inner.op == "mean" and inner.first is not None and stripped(inner.first).key == stripped(value).key


def _is_lifted_share(value: Value, lift: Value) -> bool:
    """Whether a tiny number is added to shares of a total: they keep the signs of what is shared, and it tells which."""
    share = stripped(value)
    small = lift.is_constant and 0 < lift.interval.lo < _TINY
    named = lift.guard == "eps"
    return (
        share.op == "normalize"
        and share.first is not None
        and share.first.interval == TOP
        and (small or named)
    )


def _are_related(a: Value, b: Value) -> bool:
    return a.key != b.key and (a.key in spoken_of(b) or b.key in spoken_of(a))


def _one_sided(value: Value) -> bool:
    return value.interval.lo >= 0 or value.interval.hi <= 0
