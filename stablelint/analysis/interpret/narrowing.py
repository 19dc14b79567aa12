"""Values as the path knows them."""

from __future__ import annotations

from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Value
from stablelint.numerics.interval import Interval


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
