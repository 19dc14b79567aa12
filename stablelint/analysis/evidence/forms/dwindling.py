"""Divisors that are made of what may be 0 on both sides: a gathered mean of squares, the sum of two compared values."""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped

_STORED = frozenset("item index attribute".split())
_HANDED = frozenset("argument item free unknown index attribute".split())
_DEPTH = 4  # operations looked through


def is_moving_square(divisor: Value) -> bool:
    """`v.mul_(decay).add_(g ** 2)` and its root: 0 for an element that was 0 at every step, and nothing lifts it.

    Adam and its kin divide by such a mean, and add a constant to its root for that reason.
    """
    for _ in range(_DEPTH):
        divisor = stripped(divisor)
        if divisor.op == "sqrt" and divisor.first is not None:
            divisor = divisor.first
        elif divisor.op == "div":
            divisor = divisor.operands["input"]
        elif divisor.op == "mul" and (tensor := _scaled(divisor)) is not None:
            divisor = tensor
        else:
            break
    operands = divisor.operands
    kept = operands.get("input")
    if kept is None or not divisor.name or not any(_is_stored(v, divisor.name) for v in _factors(kept)):
        return False  # nothing that is stored was changed in place
    if divisor.op == "add":
        return _is_square(stripped(operands["other"]))
    if divisor.op == "addcmul":
        return stripped(operands["tensor1"]).key == stripped(operands["tensor2"]).key
    return divisor.op == "lerp" and _is_square(stripped(operands["end"]))


def _scaled(product: Value) -> Value | None:
    """What a number multiplies."""
    tensors = [side for side in product.operands.values() if side.kind is not Kind.NUMBER]
    return tensors[0] if len(tensors) == 1 else None


def _is_stored(value: Value, name: str) -> bool:
    return value.op in _STORED and value.name == name


def _is_square(value: Value) -> bool:
    """A square of what nothing was added to, or a share of one."""
    factors = _factors(value)
    powers = [
        factor for factor in factors if factor.op == "pow" and factor.operands["exponent"].constant() == 2
    ]
    if powers:
        return all(power.first is not None and stripped(power.first).op != "add" for power in powers)
    keys = [factor.key for factor in factors if factor.kind is not Kind.NUMBER]
    return len(set(keys)) < len(keys)


def _factors(value: Value, depth: int = _DEPTH) -> list[Value]:
    value = stripped(value)
    if value.op != "mul" or not depth:
        return [value]
    return [factor for side in value.operands.values() for factor in _factors(side, depth - 1)]


def is_sum_of_compared(quotient: Value) -> bool:
    """`|a - b| / (a + b)`, or by the larger of the two: what is compared may be 0 on both sides."""
    divisor = stripped(quotient.operands["other"])
    if divisor.op not in ("add", "maximum") or "other" not in divisor.operands:
        return False
    sides = {_size(divisor.operands[name]).key for name in ("input", "other")}
    if len(sides) != 2 or not all(_is_handed(divisor.operands[name]) for name in ("input", "other")):
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


def _is_handed(value: Value) -> bool:
    return _size(value).op in _HANDED
