"""How well founded it is that a result is 0 somewhere, and that it comes to the ends of its range.

A rule takes the canonical name, the operands, the first of them and the result's interval, and gives both.
"""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.values.attainability.operations import RULES, TAKING_NOTHING, by_rule, of_any
from stablelint.analysis.values.value import Attained, Value
from stablelint.numerics.interval import Interval

__all__ = ["attainability"]


def attainability(op: str, operands: Mapping[str, Value], interval: Interval) -> tuple[Attained, Attained]:
    """How well founded it is that the result is 0 somewhere, and that it comes to its interval's ends."""
    first = next(iter(operands.values()), None)
    if first is None:
        return TAKING_NOTHING.get(op, (Attained.NONE, Attained.NONE))
    return by_rule(RULES.get(op, of_any), op, operands, first, interval)
