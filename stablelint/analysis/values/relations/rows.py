"""Totals and norms of rows that were selected by them: `x[x.sum(-1) > 0].sum(-1)` is not 0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from stablelint.analysis.values.masks import TOTALS, truth_of
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import picks_rows, selector
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import COPIES, stripped
from stablelint.numerics.interval import BOOLEAN, Interval
from stablelint.syntax.operations import having

MEASURES_OF_ROWS = TOTALS | having("norm")
_NONZERO = Interval(-math.inf, math.inf, nonzero=True)
_COUNTS = TOTALS - {"mean"}  # of a row with one element that is not 0
_MOVES = having("copy", "device") - having("cast")
_APART = frozenset({"input", "keepdim"})  # what a measure may say otherwise


def of_own_rows(
    op: str, operands: Mapping[str, Value], lies: Interval
) -> tuple[Interval, Assumption | None] | None:
    """Where a measure of rows lies that are those in which it is not 0, and what must hold for that.

    Nothing where a mask selected them by what lies along their last dimension, and no element is negative, so that the
    order in which they are added up does not matter.
    """
    dim, picked = operands.get("dim"), operands.get("input")
    picked = _bare(picked) if picked is not None else None
    if op not in MEASURES_OF_ROWS or dim is None or picked is None or picked.op != "index":
        return None
    base, index, place = picked.first, picked.operands["index"], dim.constant()
    if base is None or type(place) is not int or not (place == -1 or place >= 1):
        return None
    if not any(_is_of_same(tested, op, operands, base) for tested in _not_zero(selector(index))):
        return None
    known = lies.meet(_NONZERO)
    if known is None:
        return None
    is_shown = place == -1 and not picks_rows(index) and lies.lo >= 0
    name = base.name or "what is selected from"
    return known, None if is_shown else Assumption(f"{name} has two dimensions")


def _not_zero(mask: Value) -> Iterator[Value]:
    """What is not 0 where a mask is true: `total > 0`, `total != 0 & other`, `~(total == 0)`, `x.any(-1)`."""
    tested = truth_of(mask)
    if tested.op == "logical_and":
        for part in tested.operands.values():
            yield from _not_zero(part)
        return
    inner = truth_of(tested.first) if tested.op == "logical_not" and tested.first is not None else None
    if inner is not None and inner.op == "eq":
        yield from _beside_zero(inner)
    elif tested.op in ("ne", "gt", "lt"):
        yield from _beside_zero(tested)
    else:
        yield tested


def _beside_zero(test: Value) -> Iterator[Value]:
    left, right = test.operands["input"], test.operands["other"]
    for total, bound in ((left, right), (right, left)):
        least = bound.constant()
        is_above = (
            test.op == ("gt" if total is left else "lt") and isinstance(least, int | float) and least > 0
        )
        if least == 0 or is_above:
            yield stripped(total, COPIES)


def _is_of_same(tested: Value, op: str, operands: Mapping[str, Value], base: Value) -> bool:
    """Whether a measure that was tested is this one, of the rows before they were selected."""
    kept = tested.operands.get("keepdim")
    if tested.first is None or (kept is not None and kept.constant() is not False):
        return False
    if _bare(tested.first).key != _bare(base).key:
        return False
    if tested.op == "any":
        return op in _COUNTS and _is_alike("dim", tested.operands, operands) and base.interval.lo >= 0
    names = (tested.operands.keys() | operands.keys()) - _APART
    return tested.op == op and all(_is_alike(name, tested.operands, operands) for name in names)


def _bare(value: Value) -> Value:
    """A value without what only copies or moves it, and of truths without casts: others may turn a number into 0."""
    inner, moved = stripped(value, COPIES), stripped(value, _MOVES)
    is_of_truths = inner.dtype == "bool" or (inner.interval.integral and inner.interval.subset_of(BOOLEAN))
    return inner if is_of_truths else moved


def _is_alike(name: str, left: Mapping[str, Value], right: Mapping[str, Value]) -> bool:
    one, other = left.get(name), right.get(name)
    return one is other or (one is not None and other is not None and one.key == other.key)
