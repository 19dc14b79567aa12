"""Clamps, and selections whose own test keeps out what is bad."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.values.relations.pairs import is_of_all_pairs
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.interval import Interval

_TEST_DEPTH = 6


def clamped(op: str, operands: Mapping[str, Value], interval: Interval) -> tuple[Attained, Attained]:
    """What a clamp, `maximum` or `minimum` makes of the attainability of its operand and its bounds."""
    bounds = [v for name, v in operands.items() if name in ("min", "max", "other")]
    known = [v for v in bounds if v.interval.is_bounded]
    if not interval.contains(0.0):
        return Attained.NONE, _clamped_ends(operands, interval)
    first = next(iter(operands.values()))
    if not first.interval.contains(0.0) and first.interval.lo < 0:
        return Attained.COINCIDENCE, _clamped_ends(operands, interval)
    if any(v.interval.contains(0.0) for v in known):
        return Attained.EXACT, _clamped_ends(operands, interval)
    bound = operands.get("min")
    if op == "maximum" and not first.is_constant and _is_setting(operands.get("other")):
        bound = operands["other"]  # `max(x, gamma)`
    if bound is not None and bound.kind is not Kind.NONE and not bound.is_constant and bound.interval.hi > 0:
        # A bound that somebody chose.
        return min(first.zero, Attained.COINCIDENCE), _clamped_ends(operands, interval)
    return first.zero, _clamped_ends(operands, interval)


def _is_setting(value: Value | None) -> bool:
    """Whether a value is a number of Python's, or an argument, and nothing speaks for its being 0."""
    return (
        value is not None
        and value.zero is Attained.NONE
        and (value.kind is Kind.NUMBER or value.op == "argument")
    )


def _clamped_ends(operands: Mapping[str, Value], interval: Interval) -> Attained:
    """Clamping on both sides is reached on both; a free side is reached as the operand reaches it."""
    if interval.is_bounded:
        return Attained.EXACT
    values = list(operands.values())
    ends = next((v for v in values if not v.is_constant), values[0]).ends
    return min(ends, Attained.COINCIDENCE) if "max" in operands else ends  # an unknown bound is a bound


def selected(operands: Mapping[str, Value]) -> tuple[Attained, Attained]:
    """What `where` and `masked_fill` make of the attainability of their branches."""
    branches = [v for name, v in operands.items() if name not in ("condition", "mask")]
    test = operands.get("condition") or operands.get("mask")
    spoken = spoken_of(test) if test is not None else frozenset()
    tested = [_is_tested(v, spoken) or (is_of_all_pairs(v) and _asks_for_diagonal(test)) for v in branches]
    zeros = [
        min(v.zero, Attained.COINCIDENCE) if t else v.zero for v, t in zip(branches, tested, strict=True)
    ]
    zero = max(zeros, default=Attained.NONE)
    return zero, min((v.ends for v in branches), default=Attained.NONE)


def _asks_for_diagonal(test: Value | None) -> bool:
    return test is not None and any(v.op == "eye" for v in behind(test))


def spoken_of(test: Value) -> frozenset[int]:
    """Keys of the values that a test is made of."""
    keys: set[int] = set()
    level = [test]
    for _ in range(_TEST_DEPTH):
        below: list[Value] = []
        for value in level:
            if value.key not in keys and not value.is_constant:
                keys.add(value.key)
                below.extend(value.operands.values())
        level = below
    return frozenset(keys)


def _is_tested(value: Value, spoken: frozenset[int]) -> bool:
    """Whether a selection's own test speaks of the value: it is there to keep out what is bad."""
    return not value.is_constant and (value.key in spoken or stripped(value).key in spoken)
