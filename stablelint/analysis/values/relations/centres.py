"""Whole numbers around a centre, as the taps of a kernel have them: `arange(n) - n // 2` holds a 0."""

from __future__ import annotations

from stablelint.analysis.values.relations.squares import root_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped

_DEPTH = 6


def is_distance_from_centre(value: Value) -> bool:
    """Whether a value is nowhere negative, and 0 at the centre of whole numbers that it is made of."""
    if value.interval.lo != 0:
        return False
    for _ in range(_DEPTH):
        value = stripped(value)
        if _is_centred(value):
            return True
        root = root_of(value)
        scale = value.operands.get("other")
        scaled = value.op in ("mul", "div") and scale is not None and scale.kind is Kind.NUMBER
        inner = root or (value.first if scaled or value.op in ("abs", "square") else None)
        if inner is None:
            return False
        value = inner
    return False


def _is_centred(value: Value) -> bool:
    """`arange(n) - n // 2`, `arange(-r, r + 1)`."""
    if value.op == "arange":
        return _is_around_zero(value)
    whole, shift = value.operands.get("input"), value.operands.get("other")
    if value.op != "sub" or whole is None or shift is None or shift.op != "floor_divide":
        return False
    taps = stripped(whole)
    count = taps.operands.get("start") if taps.op == "arange" and len(_bounds(taps)) == 1 else None
    count = count or taps.operands.get("end")
    by = shift.operands["other"].constant()
    return count is not None and count.key == shift.operands["input"].key and type(by) is int and by >= 2


def _is_around_zero(taps: Value) -> bool:
    bounds = _bounds(taps)
    return len(bounds) == 2 and bounds[0].op == "neg" and _is_next(bounds[1], bounds[0].operands["input"])


def _is_next(end: Value, radius: Value) -> bool:
    if end.op != "add":
        return False
    parts = list(end.operands.values())
    return any(a.key == radius.key and b.constant() == 1 for a, b in (parts, parts[::-1]))


def _bounds(taps: Value) -> list[Value]:
    return [taps.operands[name] for name in ("start", "end", "step") if name in taps.operands]
