"""Values as the path knows them."""

from __future__ import annotations

from stablelint.analysis.values.hints import hint
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.numerics.interval import Interval


def hinted(value: Value, frame: Frame) -> Value:
    """An unknown value with what its name tells."""
    found = hint(value.name)
    if found is not None and value.kind in (Kind.UNKNOWN, Kind.TENSOR, Kind.NUMBER):
        value.interval, value.zero, value.ends, value.guard = (
            found.interval,
            found.zero,
            found.ends,
            found.guard,
        )
        if found.guard == "eps":
            value.kind = Kind.NUMBER
    return value


def narrowed(value: Value, frame: Frame) -> Value:
    """The value with the branch's knowledge made its own."""
    return narrowed_value(value, frame.state.effective(value), frame)


def narrowed_value(value: Value, interval: Interval, frame: Frame) -> Value:
    """The value restricted to an interval that a test established."""
    if interval == value.interval:
        return value
    zero = value.zero if interval.contains(0.0) else Ground.NONE
    return Value(
        value.op, frame.graph.key("narrowed", value.key, interval), value.kind, value.operands, interval, zero, value.ends,
        value.dtype, value.node, value.module, value.data, value.name, value.peak, value.assumed, "branch",
    )  # fmt: skip
