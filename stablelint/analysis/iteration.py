"""What a loop variable stands for."""

from __future__ import annotations

import ast
import math

from stablelint.analysis.state import Frame
from stablelint.analysis.value import Ground, Kind, Value, join
from stablelint.numerics.interval import Interval


def element_of(iterable: Value, target: ast.expr, frame: Frame) -> Value:
    """What a loop variable stands for."""
    if iterable.kind is Kind.SEQUENCE and iterable.data:
        return join(frame.graph, list(iterable.data))
    if iterable.op == "python.range":
        interval = Interval(0.0, math.inf, hi_open=True, integral=True)
        start = iterable.operands.get("start")
        if start is not None and start.interval.lo < math.inf:
            interval = Interval(start.interval.lo, math.inf, hi_open=True, integral=True)
        return Value(
            "loop_index",
            frame.graph.fresh(),
            Kind.NUMBER,
            {},
            interval,
            Ground.EXACT,
            Ground.COINCIDENCE,
            node=target,
        )
    if iterable.op == "python.enumerate":
        count = Interval(0.0, math.inf, hi_open=True, integral=True)
        key = frame.graph.fresh()
        index = Value(
            "loop_index", key, Kind.NUMBER, {}, count, Ground.EXACT, Ground.COINCIDENCE, node=target
        )
        return frame.graph.sequence([index, element_of(iterable.operands["input"], target, frame)], target)
    if iterable.op == "python.zip":
        return frame.graph.sequence(
            [element_of(v, target, frame) for v in iterable.operands.values()], target
        )
    if iterable.op == "list_of" and "element" in iterable.operands:
        return iterable.operands["element"]
    return frame.graph.unknown(target.id if isinstance(target, ast.Name) else "", target)
