"""Squares and what they are squares of, up to scales: `x ** 2`, `x * x`, `mean * total / n`."""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import VIEWS


def unscaled(value: Value) -> Value:
    """The value without numbers that it is multiplied with or divided by."""
    inner = stripped(value)
    while inner.op in ("mul", "div") and inner.operands.keys() == {"input", "other"}:
        kept = [v for v in inner.operands.values() if v.kind is not Kind.NUMBER]
        if len(kept) != 1:
            break
        inner = stripped(kept[0])
    return inner


def root_of(square: Value) -> Value | None:
    """What a value is the square of, up to a divisor; None where it is no square."""
    if square.op == "pow" and square.first is not None:
        return stripped(square.first) if square.operands["exponent"].constant() == 2 else None
    if square.op != "mul" or square.operands.keys() != {"input", "other"}:
        return None
    one, other = (dividend_of(v) for v in square.operands.values())
    return one if one.key == other.key else None


def dividend_of(value: Value) -> Value:
    """What a value is a part of, whatever it is divided by."""
    return stripped(value, VIEWS | {"div"})
