"""What tests find in a result that is not finite, and which operands vanish together."""

from __future__ import annotations

import math

from stablelint.analysis.values.relations.maxima import rows_of
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import laid_alike, recast, stripped

_FOUND: dict[str, frozenset[object]] = {
    "isnan": frozenset({"nan"}),
    "isinf": frozenset({math.inf, -math.inf}),
    "isfinite": frozenset({"nan", math.inf, -math.inf}),
}


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


def vanishes_with(numerator: Value | None, divisor: Value | None) -> bool:
    """Whether a numerator is 0 wherever the divisor is: the divisor itself, or a masked sum over that of its mask."""
    if numerator is None or divisor is None:
        return True
    one, other = map(recast, laid_alike(recast(numerator), recast(divisor)))
    if one.key == other.key or (
        one.op == "mul" and other.key in {recast(v).key for v in one.operands.values()}
    ):
        return True
    if one.op != "sum" or other.op != "sum" or one.first is None or other.first is None:
        return False
    weights, product = stripped(other.first), stripped(one.first)
    if rows_of(one.operands) != rows_of(other.operands):
        return False
    joint = product.op in ("mul", "logical_and")
    factors = {stripped(v).key for v in product.operands.values()} if joint else {product.key}
    united = (
        {stripped(v).key for v in weights.operands.values()} if weights.op == "logical_or" else {weights.key}
    )
    return weights.interval.lo >= 0 and not united.isdisjoint(factors)
