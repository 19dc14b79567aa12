"""Zeros that the meaning of a value excludes: what it counts, what it was compared with."""

from __future__ import annotations

from stablelint.analysis.value import Ground, Value
from stablelint.analysis.views import stripped

_REACHED = {
    "ge": frozenset("max amax mean median quantile".split()),
    "le": frozenset("min amin mean median quantile".split()),
    "eq": frozenset("max amax min amin".split()),
}
_MIRRORED = {"ge": "le", "le": "ge", "eq": "eq"}
_TOTALS = frozenset("sum count_nonzero python.sum mean".split())
_LENGTH = 8  # operations looked through


def counts_its_extreme(operand: Value) -> bool:
    """Whether a count is of the elements that reach the maximum of the very tensor, or a share of it."""
    total = stripped(operand)
    for _ in range(_LENGTH):
        if total.op in _TOTALS or total.op not in ("mul", "div"):
            break
        following = next((v for v in total.operands.values() if v.zero is Ground.EXACT), None)
        if following is None:
            return False
        total = stripped(following)
    if total.op not in _TOTALS or total.first is None:
        return False
    return meets_its_extreme(total.first)


def meets_its_extreme(mask: Value) -> bool:
    """Whether a test compares a tensor with its own maximum, median or quantile, which some element reaches."""
    test = stripped(mask)
    if test.op not in _MIRRORED or len(test.operands) < 2:
        return False
    left, right = (test.operands[name] for name in ("input", "other"))
    return _reaches(left, test.op, right) or _reaches(right, _MIRRORED[test.op], left)


def _reaches(value: Value, comparison: str, bound: Value) -> bool:
    """Whether an element of `value` meets a comparison with a bound that is made of its own maximum or minimum."""
    inner = stripped(bound)
    if inner.op in ("mul", "div") and comparison == "ge" and value.interval.lo >= 0:
        factor = inner.operands["other"].constant()
        if (
            not isinstance(factor, int | float)
            or not 0 < (factor if inner.op == "mul" else 1 / (factor or 1)) <= 1
        ):
            return False
        inner = stripped(inner.operands["input"])
    while inner.op in ("part", "index") and inner.first is not None:
        inner = stripped(inner.first)
    return inner.op in _REACHED[comparison] and inner.first is not None and _is_same(inner.first, value)


def _is_same(one: Value, other: Value) -> bool:
    return stripped(one).key == stripped(other).key


def is_unlikely_product(value: Value) -> bool:
    """Whether a value is 1 less a product of numbers up to 1, which is 1 only where each of them rounds to 1."""
    inner = stripped(value)
    while inner.op == "index" and inner.first is not None:
        inner = stripped(inner.first)
    product = inner.operands.get("other")
    if inner.op != "sub" or product is None or inner.operands["input"].constant() != 1:
        return False
    return stripped(product).op == "prod"
