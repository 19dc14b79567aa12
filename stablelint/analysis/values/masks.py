"""Masks without what is laid around them, and the draws that some are made of."""

from __future__ import annotations

from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped

DRAWN = frozenset("rand rand_like randn randn_like normal normal_ uniform_ exponential_ gumbel".split())


def truth_of(value: Value) -> Value:
    """The value without casts, to truth values too, and rearrangements around it: where it is not 0, they are not."""
    value = stripped(value)
    while value.op == "bool" and value.first is not None:
        value = stripped(value.first)
    return value


def unnegated(value: Value) -> Value:
    """The value without negations, casts to truth values and rearrangements around it."""
    value = stripped(value)
    while _negates(value) and value.first is not None:
        value = stripped(value.first)
    return value


def _negates(value: Value) -> bool:
    if value.op in ("logical_not", "tensor"):
        return True
    other = value.operands.get("other")
    return value.op in ("eq", "ne") and other is not None and other.constant() in (0, 1)
