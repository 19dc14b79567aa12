"""Values whose zeros a rectifier makes: its backward pass selects a gradient of 0 there, and multiplies nothing.

So an infinite or NaN gradient at such a zero reaches nothing that stands before the rectifier. A `clamp` hands the
gradient on at its bound, and a product with a mask makes NaN of it.
"""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import recast, shown
from stablelint.syntax.operations import SELECTIONS, having

_RECTIFIERS = having("rectify")
# 0 where all, or the one, of them are.
_REDUCED = frozenset("sum mean amax max cumsum square abs sqrt".split())
_POOLED = having("mean-pool", "max-pool")
_TOGETHER = having("join") | {"add", "phi"}
_PASSING = _REDUCED | _POOLED | SELECTIONS
_SHRINKING = _POOLED | {"mean", "square", "pow", "div"}
_DEPTH = 12


def is_cut_at_zero(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is nowhere negative, and no gradient passes from its zeros to anything that they are made of."""
    inner = shown(value)
    if not inner.interval.lo >= 0 or not depth:
        return False
    if inner.op in _RECTIFIERS:
        return True
    parts = list(inner.operands.values())
    if inner.op in _TOGETHER:
        joined = [
            element for part in parts for element in (part.data if part.kind is Kind.SEQUENCE else [part])
        ]
        terms = [part for part in joined if part.kind in (Kind.TENSOR, Kind.UNKNOWN)]
        return bool(terms) and all(is_cut_at_zero(part, depth - 1) for part in terms)
    if inner.op == "mul" and len(parts) == 2 and inner.dtype != "float16":
        one, other = parts
        if recast(one).key == recast(other).key:
            return is_cut_at_zero(one, depth - 1)
        number, rest = (one, other) if one.kind is Kind.NUMBER else (other, one)
        return _is_positive_number(number) and is_cut_at_zero(rest, depth - 1)
    if inner.op in _SHRINKING and inner.dtype == "float16":
        return False  # of a number that is not 0 it may make one
    is_passed = (
        inner.op in _PASSING
        or (inner.op == "div" and _is_positive_number(inner.operands["other"]))
        or (inner.op == "pow" and _is_positive_number(inner.operands["exponent"]))
    )
    return is_passed and inner.first is not None and is_cut_at_zero(inner.first, depth - 1)


def _is_positive_number(value: Value) -> bool:
    """Whether a value is a number of Python's, to which no gradient flows, and above 0."""
    return value.kind is Kind.NUMBER and value.interval.lo >= 0 and not value.interval.contains(0.0)
