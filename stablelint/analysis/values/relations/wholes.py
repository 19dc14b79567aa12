"""Parts of what is at least as large: `a / (a + b)` lies in [0, 1], `z / sqrt(x ** 2 + z ** 2)` in [-1, 1].

Rounding keeps this: a sum of what is not negative is no smaller than a term of it, in whatever order it is added up, and
the root of a square is the number itself where the square is a normal number (IEEE 754 rounds both to the nearest).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.analysis.values.relations.alignment import alignment, unlaid
from stablelint.analysis.values.relations.maxima import rows_of
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import is_same, recast
from stablelint.numerics.formats import FLOAT32, FORMATS
from stablelint.numerics.interval import Interval

_LARGER = frozenset({"maximum", "clamp"})  # no smaller than each of their operands
_DEPTH = 8


def within_whole(operands: Mapping[str, Value], interval: Interval) -> Interval:
    """The range of a quotient, not past 1 where its divisor is no smaller than its dividend."""
    part, whole = operands["input"], operands["other"]
    if interval.is_bounded or whole.interval.lo < 0:
        return interval
    # What has a square that is no normal number is smaller than such a divisor, whatever the root of that.
    rooted = whole.interval.lo >= math.sqrt(FORMATS.get(part.dtype or "", FLOAT32).tiny)
    if not _covers(whole, part, rooted, _DEPTH):
        return interval
    return interval.meet(Interval(-1.0, 1.0, nan=interval.nan)) or interval


def united(operands: Mapping[str, Value]) -> list[Value]:
    """The shares that `a.sum() + b.sum() - (a * b).sum()` is made of: half of the two sums is left, for both hold the last.

    So it is where both have one shape; empty for anything else.
    """
    both, common = (recast(operands[name]) for name in ("input", "other"))
    shared = recast(common.first) if common.op == "sum" and common.first is not None else common
    sums = [recast(v) for v in both.operands.values()] if both.op == "add" else []
    if len(sums) != 2 or any(v.op != "sum" or rows_of(v.operands) != rows_of(common.operands) for v in sums):
        return []
    summed = [v.operands["input"] for v in sums]
    parts = list(shared.operands.values()) if shared.op in ("mul", "logical_and") else []
    alike = any(all(map(is_same, summed, order)) for order in (parts, parts[::-1]) if len(order) == 2)
    shares = all(0 <= v.interval.lo <= v.interval.hi <= 1 and not v.interval.nan for v in summed)
    return summed if alike and shares else []


def _covers(whole: Value, part: Value, rooted: bool, depth: int) -> bool:
    """Whether a value, not negative, is at least as large as the other's magnitude; by roots, where these keep it."""
    whole = recast(whole)
    if not depth or whole.interval.lo < 0:
        return False
    if whole.op == "abs" and whole.first is not None and is_same(whole.first, part):
        return True
    if whole.op == "sqrt" and whole.first is not None:
        return rooted and _covers_square(whole.first, part, depth - 1)
    if _grows(whole):
        return any(_covers(term, part, rooted, depth - 1) for term in whole.operands.values())
    return part.interval.lo >= 0 and (is_same(whole, part) or _adds_up(whole, part))


def _covers_square(total: Value, part: Value, depth: int) -> bool:
    """Whether a value, not negative, is at least as large as the square of another."""
    total = recast(total)
    if (root := _root(total)) is not None:
        return is_same(root, part)
    return (
        depth > 0
        and _grows(total)
        and any(_covers_square(v, part, depth - 1) for v in total.operands.values())
    )


def _root(square: Value) -> Value | None:
    """What a value is the square of, element for element."""
    if square.op == "pow":
        return square.first if square.operands["exponent"].constant() == 2 else None
    factors = list(square.operands.values()) if square.op == "mul" else []
    return factors[0] if len(factors) == 2 and is_same(*factors) else None


def _grows(value: Value) -> bool:
    """Whether a value is no smaller than each of its operands: a sum of what is not negative, or a bound from below."""
    if value.op in _LARGER:
        return "max" not in value.operands
    return (
        value.op == "add"
        and "alpha" not in value.operands
        and all(v.interval.lo >= 0 for v in value.operands.values())
    )


def _adds_up(total: Value, part: Value) -> bool:
    """Whether a sum is of another value, all of it or along rows beside which it lies."""
    reduction, views = unlaid(total)
    if reduction.op != "sum" or reduction.first is None or not is_same(reduction.first, part):
        return False
    lies = alignment(reduction, views) if "dim" in reduction.operands else None
    return "dim" not in reduction.operands or (lies is not None and lies.is_shown)
