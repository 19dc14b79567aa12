"""Masks without what is laid around them, and the draws that some are made of."""

from __future__ import annotations

from stablelint.analysis.values.families import CONDITIONS
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import SELECTIONS, having

DRAWN = having("draw")


def truth_of(value: Value) -> Value:
    """The value without casts, to truth values too, and rearrangements around it: where it is not 0, they are not."""
    value = stripped(value)
    while value.op == "bool" and value.first is not None:
        value = stripped(value.first)
    return value


def holds_truth(value: Value) -> bool:
    """Whether a value holds truth values, or numbers made of them, or some of either."""
    value = stripped(value)
    while value.op in SELECTIONS and value.first is not None:
        value = stripped(value.first)
    return value.op in CONDITIONS or value.dtype == "bool"


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
