"""What a loop variable stands for."""

from __future__ import annotations

import ast
import math

from stablelint.analysis import layers, lists
from stablelint.analysis.state import Frame
from stablelint.analysis.value import Ground, Kind, Value, join
from stablelint.numerics.interval import Interval


def unrolled(iterable: Value, frame: Frame) -> list[Value] | None:
    """The turns of a loop over layers or functions that are known one by one; None for any other loop."""
    if iterable.op == "python.enumerate":
        inner = unrolled(iterable.operands["input"], frame)
        if inner is None:
            return None
        return [frame.graph.sequence([frame.graph.constant(i), value]) for i, value in enumerate(inner)]
    if iterable.kind is Kind.LAYER:
        return layers.known_elements(iterable)
    if iterable.kind is Kind.SEQUENCE and any(v.kind in lists.CALLABLE for v in iterable.data):
        return list(iterable.data)
    return None


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
    if iterable.kind is Kind.LAYER:
        return layers.any_element(iterable, frame)
    if lists.is_list(iterable) and (elements := lists.elements_of(iterable)):
        return join(frame.graph, elements)
    return frame.graph.unknown(target.id if isinstance(target, ast.Name) else "", target)
