"""Sums by which a mask chooses: `x * m + y * (1 - m)` is x where the mask holds, and y elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.interpret.paths.conditions import narrowed_by
from stablelint.analysis.values.families import CONDITIONS, FINITE_TESTS
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import Interval

_TESTS = CONDITIONS | FINITE_TESTS


def blended(operands: Mapping[str, Value], frame: Frame) -> tuple[Interval, Attained] | None:
    """Where the sum of two masked terms lies, and how well founded a 0 is; None where it is another sum."""
    terms = [term for v in operands.values() if (term := _term(v)) is not None]
    if len(terms) != 2 or len(operands) != 2:
        return None
    (test, truth, one), (other_test, other_truth, two) = terms
    if test.key != other_test.key or truth == other_truth:
        return None
    interval: Interval | None = None
    zero = Attained.NONE
    for value, holds in ((one, truth), (two, other_truth)):
        part = narrowed_by(test, holds, value, frame) if value is not None else Interval.point(1.0)
        if value is not None and part.contains(0.0):
            zero = max(zero, value.zero)
        interval = part if interval is None else interval.join(part)
    return (interval, zero) if interval is not None else None


def _term(value: Value) -> tuple[Value, bool, Value | None] | None:
    """A term as its test, how that must come out, and what it is a multiple of (None for 1)."""
    mask = _mask(value)
    if mask is not None:
        return (*mask, None)
    inner = stripped(value)
    if inner.op != "mul" or len(inner.operands) != 2:
        return None
    left, right = inner.operands.values()
    for factor, rest in ((left, right), (right, left)):
        mask = _mask(factor)
        if mask is not None:
            return (*mask, rest)
    return None


def _mask(value: Value) -> tuple[Value, bool] | None:
    """The test of which a value is 1 where it holds (or fails), and 0 elsewhere."""
    inner = stripped(value)
    if inner.op in _TESTS:
        return inner, True
    if inner.op == "logical_not" and inner.first is not None:
        found = _mask(inner.first)
    elif inner.op == "sub" and inner.operands["input"].constant() == 1:
        found = _mask(inner.operands["other"])
    else:
        return None
    return (found[0], not found[1]) if found is not None else None
