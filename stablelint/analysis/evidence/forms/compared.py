"""Two values compared by their sum or the larger of them, which are 0 where both are."""

from __future__ import annotations

from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped

_HANDED = HANDED_OVER | {"index"}
_DEPTH = 4  # operations looked through


def _scaled(product: Value) -> Value | None:
    """What a number multiplies."""
    tensors = [side for side in product.operands.values() if side.kind is not Kind.NUMBER]
    return tensors[0] if len(tensors) == 1 else None


def is_sum_of_compared(quotient: Value) -> bool:
    """`|a - b| / (a + b)`, or by the larger of the two: what is compared may be 0 on both sides."""
    divisor = stripped(quotient.operands["other"])
    if divisor.op not in ("add", "maximum") or "other" not in divisor.operands:
        return False
    sides = {_size(divisor.operands[name]).key for name in ("input", "other")}
    if len(sides) != 2 or not all(_size(divisor.operands[name]).op in _HANDED for name in ("input", "other")):
        return False
    difference = quotient.operands["input"]
    for _ in range(_DEPTH):
        difference = _size(difference)
        inner = _scaled(difference) if difference.op == "mul" else None
        if inner is None:
            break
        difference = inner
    if difference.op != "sub":
        return False
    return {_size(difference.operands[name]).key for name in ("input", "other")} == sides


def _size(value: Value) -> Value:
    """What an absolute value is taken of."""
    value = stripped(value)
    return stripped(value.first) if value.op == "abs" and value.first is not None else value
