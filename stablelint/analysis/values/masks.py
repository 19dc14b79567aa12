"""Masks without what is laid around them, the draws that some are made of, and what tests find that is not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from stablelint.analysis.values.families import CONDITIONS
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import POSITIVE, Interval
from stablelint.syntax.operations import SELECTIONS, VIEWS, having

DRAWN = having("draw")
TOTALS = frozenset({"sum", "count_nonzero", "mean"})
_UNIONS = frozenset({"logical_or", "add", "maximum"})
_TRIANGLES = ("tril", "triu")
_CASTS, _PICKED = VIEWS | {"bool"}, VIEWS | SELECTIONS
_AT_LEAST_ONE = Interval(1.0, math.inf, hi_open=True)
_TRUTH = (Interval.point(0.0), Interval.point(1.0))
_FOUND: dict[str, frozenset[object]] = {
    "isnan": frozenset({"nan"}),
    "isinf": frozenset({math.inf, -math.inf}),
    "isposinf": frozenset({math.inf}),
    "isneginf": frozenset({-math.inf}),
    "isfinite": frozenset({"nan", math.inf, -math.inf}),
}


def truth_of(value: Value) -> Value:
    """The value without casts, to truth values too, and rearrangements around it: where it is not 0, they are not."""
    return stripped(value, _CASTS)


def holds_truth(value: Value, depth: int = 4) -> bool:
    """Whether a value holds truth values, or numbers made of them, some of either, or their products."""
    value = inner = stripped(value, _PICKED)
    if value.op in ("phi", "mul") and depth:
        others = [one for one in value.operands.values() if not holds_truth(one, depth - 1)]
        return len(others) < len(value.operands) and all(one.interval in _TRUTH for one in others)
    while inner.op in _TRIANGLES and inner.first is not None:
        inner = stripped(inner.first, _PICKED)
    is_triangle = value is not inner and inner.interval == Interval.point(1.0)
    return value.op in CONDITIONS or value.dtype == "bool" or is_triangle


def total_of_some(
    op: str, operands: Mapping[str, Value], lies: Interval, selecting: AbstractSet[int]
) -> Interval | None:
    """Where a total over all elements lies, none of which is negative and one of which is known not to be 0.

    That of truths is at least 1. None where nothing is known of the elements, whose keys `selecting` holds.
    """
    operand = operands.get("input")
    if op not in TOTALS or operand is None or "dim" in operands or lies.lo != 0:
        return None
    if not _holds_one(operand, selecting):
        return None
    counts = op == "count_nonzero" or (op == "sum" and holds_truth(operand))
    return lies.meet(_AT_LEAST_ONE if counts else POSITIVE)


def _holds_one(value: Value, selecting: AbstractSet[int]) -> bool:
    """Whether some element is not 0: one of these values, or a union, or sum, with one of them."""
    value = stripped(value)
    parts = value.operands.values() if value.op in _UNIONS and len(value.operands) == 2 else ()
    united = value.op == "logical_or" or all(part.interval.lo >= 0 for part in parts)
    return value.key in selecting or (united and any(_holds_one(part, selecting) for part in parts))


def unnegated(value: Value) -> Value:
    """The value without negations, casts to truth values and rearrangements around it."""
    value = stripped(value)
    while _negates(value) and value.first is not None:
        value = stripped(value.first)
    return value


def _negates(value: Value) -> bool:
    if value.op in ("logical_not", "tensor"):
        return True
    other = value.operands.get("other")
    return value.op in ("eq", "ne") and other is not None and other.constant() in (0, 1)


def found_by(test: Value, result: Value) -> frozenset[object]:
    """What a test finds in a result: NaN, or an infinity."""
    test, own = stripped(test), stripped(result).key
    if test.op == "logical_not" and test.first is not None:
        return found_by(test.first, result)
    if test.op == "logical_or":
        return frozenset().union(*(found_by(part, result) for part in test.operands.values()))
    if test.first is None or stripped(test.first).key != own:
        return frozenset()
    if test.op in ("eq", "ne"):
        other = test.operands["other"]
        return frozenset({"nan" if stripped(other).key == own else other.constant()})
    return _FOUND.get(test.op, frozenset())


def made_finite(value: Value) -> Value | None:
    """What is left of a value where a replacement took out only what is not finite; None of any other replacement."""
    kept, test = value.operands.get("input"), value.operands.get("mask")
    if value.op == "nan_to_num":
        return kept
    if value.op == "where" and kept is not None:
        test = value.operands.get("condition")
        kept = kept if test is not None and _holds_of_finite(test) else value.operands.get("other")
    elif test is not None and _holds_of_finite(test):
        return None
    found = found_by(test, kept) if test is not None and kept is not None else frozenset()
    return kept if found and found <= _FOUND["isfinite"] else None


def _holds_of_finite(test: Value) -> bool:
    """Whether a test for what is not finite, as `found_by` knows them, holds of all else: `isfinite(x)`, `x != inf`."""
    test = stripped(test)
    if test.op == "logical_not" and test.first is not None:
        return not _holds_of_finite(test.first)
    return test.op in ("isfinite", "ne")
