"""Whether all elements of a row are 0 at once, as what is taken over a row asks."""

from __future__ import annotations

from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import TOP


def reduced(op: str, operand: Value) -> tuple[Attained, Attained]:
    """What a reduction over a row makes of the attainability of its elements."""
    if op in ("amax", "max") and stripped(operand).op == "abs":
        return _of_maximum_norm(stripped(operand).operands["input"]), operand.ends
    if op == "sum" and operand.zero is Attained.SATURATION and _underflows_together(operand):
        return Attained.SATURATION, operand.ends
    if op in ("sum", "mean") and operand.zero is Attained.SATURATION and stripped(operand).op == "stack":
        return (Attained.SATURATION, operand.ends)  # several answers to one question, which rule the same out
    if op == "sum" and stripped(operand).op == "abs" and stripped(operand).operands["input"].interval == TOP:
        return Attained.EXACT, operand.ends  # a norm, which is 0 for silence
    zero = operand.zero if op in ("amin", "min", "prod", "median") else row_of_zeros(operand)
    if zero is Attained.EXACT or op in ("amax", "amin", "max", "min", "median", "prod"):
        return zero, operand.ends
    return min(zero, Attained.COINCIDENCE), operand.ends


def _of_maximum_norm(vector: Value) -> Attained:
    # A circle's points, say.
    fixed = vector.interval.is_bounded and row_of_zeros(vector) < Attained.SATURATION
    return Attained.COINCIDENCE if fixed else Attained.EXACT


def _underflows_together(value: Value, depth: int = 6) -> bool:
    """Whether all elements of a row can underflow at once: exponentials whose maximum was not taken out."""
    inner = stripped(value)
    if inner.op in ("exp", "exp2"):
        return not inner.peak and not inner.operands["input"].peak
    if depth == 0 or inner.op not in ("mul", "div", "index"):
        return False
    return any(_underflows_together(v, depth - 1) for v in inner.operands.values())


def row_of_zeros(operand: Value, depth: int = 8) -> Attained:
    """How well founded it is that all elements of a row are 0: the zeros of one branch do not fill it."""
    inner = stripped(operand)
    if depth == 0 or operand.zero < Attained.SATURATION:
        return operand.zero
    parts = [row_of_zeros(v, depth - 1) for n, v in inner.operands.items() if n not in ("condition", "mask")]
    if inner.op == "overwritten" and isinstance(inner.data, Value) and inner.data.kind is Kind.NUMBER:
        return min(operand.zero, max(parts))  # the row itself was overwritten
    if inner.op in ("where", "phi", "cat", "stack", "overwritten", "masked_fill") and parts:
        return min(operand.zero, *parts)
    if inner.op == "sub" and any(stripped(v).op == "cosine_similarity" for v in inner.operands.values()):
        return min(operand.zero, Attained.COINCIDENCE)  # distances, which are 0 only where all agree
    if inner.op in ("tensor", "arange", "eye", "linspace", "rand", "rand_like"):
        return Attained.COINCIDENCE
    if (
        inner.op == "add"
        and inner.interval.lo >= 0
        and all(v.interval.lo >= 0 for v in inner.operands.values())
    ):
        return min(operand.zero, *parts)  # only where the rows of both are 0
    if inner.op == "mul" and len(parts) == 2:
        return min(operand.zero, max(parts))
    if inner.op in ("div", "neg", "pow", "index", "sqrt", "sum", "mean") and parts:
        return min(operand.zero, parts[0])
    return operand.zero
