"""Which operands vanish together."""

from __future__ import annotations

from stablelint.analysis.values.relations.maxima import rows_of
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import laid_alike, recast, stripped


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
