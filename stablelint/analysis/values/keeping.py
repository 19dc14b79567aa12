"""Zeros that a selection leaves out, or that the way in which a value was drawn keeps away."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.values.value import Attained, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import having

ODD = having("odd")  # 0 where the operand is
_DEPTH = 6  # operations looked through


def leaves_out_start(operands: Mapping[str, Value]) -> bool:
    """Whether a selection leaves out the element in which alone a count from 0, or what is made of it, is 0."""
    index, value = operands.get("index"), operands["input"]
    place = index.data[0].constant() if index is not None and index.op == "slice" else None
    if not isinstance(place, int) or place <= 0:
        return False
    for _ in range(_DEPTH):
        value = stripped(value)
        if value.op in ("arange", "linspace"):
            return value.interval.lo == 0
        if value.op not in ODD and value.op not in ("mul", "div", "pow", "sqrt", "abs", "neg"):
            return False
        following = next((v for v in value.operands.values() if v.zero is Attained.EXACT), None)
        if following is None:
            return False
        value = following
    return False


def keeps_the_larger(operands: Mapping[str, Value]) -> bool:
    """`x[x > y]`: what its author has compared with a bound, and kept only above it."""
    mask = operands.get("index")
    kept = _root_of_power(operands["input"])
    return mask is not None and any(_is_exceeded(test, kept) for test in _conjuncts(mask, _DEPTH))


def _root_of_power(value: Value) -> int:
    """The key of what a value is a power of, or of the value itself: all of them are 0 together."""
    inner = stripped(value)
    for _ in range(_DEPTH):
        factors = {stripped(v).key for v in inner.operands.values()} if inner.op == "mul" else set()
        if inner.first is None or (inner.op not in ("pow", "square", "abs", "sqrt") and len(factors) != 1):
            break
        inner = stripped(inner.first)
    return inner.key


def _conjuncts(test: Value, depth: int) -> list[Value]:
    """The tests that all hold where `test` does."""
    inner = stripped(test)
    if inner.op != "logical_and" or not depth:
        return [inner]
    return [part for v in inner.operands.values() for part in _conjuncts(v, depth - 1)]


def _is_exceeded(test: Value, kept: int) -> bool:
    """Whether a test finds what has the key `kept` above a bound that is not negative."""
    if test.op not in ("gt", "lt") or len(test.operands) < 2:
        return False
    larger = test.operands["input" if test.op == "gt" else "other"]
    smaller = test.operands["other" if test.op == "gt" else "input"]
    compared = stripped(larger)
    if compared.op == "index" and compared.first is not None and compared.key != kept:
        compared = stripped(compared.first)  # `x[:, 0] > bound`, the one column of it
    return compared.key == kept and not smaller.interval.hi < 0
