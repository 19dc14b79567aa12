"""What a loop variable stands for."""

from __future__ import annotations

import ast
import math

from stablelint.analysis.interpret.calls.inline import call_function
from stablelint.analysis.interpret.objects.classes import as_sequence
from stablelint.analysis.interpret.objects.lineage import find_method
from stablelint.analysis.interpret.operations import layers
from stablelint.analysis.interpret.operations.sizes import length_key, some_size
from stablelint.analysis.interpret.paths.conditions import compare
from stablelint.analysis.values import lists
from stablelint.analysis.values.annotations import annotated_element
from stablelint.analysis.values.state import Frame, identity
from stablelint.analysis.values.value import Attained, Kind, Value, join
from stablelint.numerics.interval import AT_LEAST_ONE, Interval
from stablelint.syntax.names import name_of


def unrolled(iterable: Value, frame: Frame) -> list[Value] | None:
    """The turns of a loop over layers or functions that are known one by one; None for any other loop."""
    if iterable.op == "progress":
        return unrolled(iterable.operands["input"], frame)
    if iterable.op == "python.enumerate":
        inner = unrolled(iterable.operands["input"], frame)
        if inner is None:
            return None
        start = iterable.operands.get("start")
        first = start.constant() if start is not None else 0
        if not isinstance(first, int):
            return None
        return [frame.graph.sequence([frame.graph.constant(i), v]) for i, v in enumerate(inner, first)]
    if iterable.kind is Kind.LAYER:
        return layers.known_elements(iterable)
    if iterable.kind is Kind.SEQUENCE and any(v.kind in lists.CALLABLE for v in iterable.data):
        return list(iterable.data)
    return None


def _position(start: Value | None, target: ast.expr, frame: Frame) -> Value:
    """The loop variable of a count that begins at `start`, or at 0."""
    low = start.interval.lo if start is not None else 0.0
    return _index(low, math.inf, start is None or start.constant() == 0, target, frame)


def _index(low: float, high: float, has_zero: bool, target: ast.expr, frame: Frame) -> Value:
    """A loop variable that holds whole numbers from `low` to `high`, and 0 for sure or perhaps."""
    low = low if low < math.inf else -math.inf  # no turn begins at infinity
    ends = math.isinf(low), math.isinf(high)
    interval = Interval(low, max(low, high), *ends, integral=True)
    zero = Attained.EXACT if has_zero else Attained.COINCIDENCE
    return Value(
        "loop_index", frame.graph.fresh(), Kind.NUMBER, {}, interval, zero if interval.contains(0.0) else Attained.NONE,
        Attained.COINCIDENCE, node=target,
    )  # fmt: skip


def _of_range(counted: Value, target: ast.expr, frame: Frame) -> Value:
    """The loop variable of a range, up or down, and how far it keeps from both ends."""
    start, stop, step = (counted.operands.get(name) for name in ("start", "stop", "step"))
    first = start.interval if start is not None else Interval.point(0.0)
    ascends = step is None or step.interval.lo > 0
    if stop is None or not (ascends or (step is not None and step.interval.hi < 0)):
        return _index(-math.inf, math.inf, False, target, frame)
    if ascends:
        has_zero = start is None or start.constant() == 0
        index = _index(first.lo, stop.interval.hi - 1, has_zero, target, frame)
    else:
        index = _index(stop.interval.lo + 1, first.hi, stop.constant() == -1, target, frame)
    index.data = counted
    _keep_apart(index, stop, 1, not ascends, frame)
    if start is not None:
        _keep_apart(index, start, 0, ascends, frame)
    low, high = (start or frame.graph.constant(0), stop) if ascends else (stop, start)
    if high is not None and math.isfinite(low.interval.lo):  # there is a number between them
        above = Interval(math.floor(low.interval.lo) + 1, math.inf, hi_open=True, integral=True)
        frame.state.learn(high, above)
        compare("lt", low, high, frame.state)
    return index


def _keep_apart(index: Value, end: Value, least: int, after: bool, frame: Frame) -> None:
    """Records that a loop variable is at least so far after an end of its range, or before it: `range(m + 2, n)`."""
    ends = [(end, least)]
    other = end.operands.get("other")
    shift = other.constant() if other is not None and end.op in ("add", "sub") else None
    if isinstance(shift, int):
        ends.append((end.operands["input"], least + (shift if (end.op == "add") is after else -shift)))
    for place, distance in ends:
        one, other = (index, place) if after else (place, index)
        apart = Interval(distance, math.inf, hi_open=True, integral=True)
        frame.state.relate(identity(one), identity(other), apart)
        frame.state.relate(
            identity(other), identity(one), Interval(-math.inf, -distance, True, integral=True)
        )


def element_of(iterable: Value, target: ast.expr, frame: Frame) -> Value:
    """What a loop variable stands for; records that there is one, so that what is looped over is not empty."""
    frame.state.learn_of(length_key(iterable, frame), AT_LEAST_ONE)
    iterable = as_sequence(iterable, target, frame)
    if iterable.op == "progress":
        return element_of(iterable.operands["input"], target, frame)
    if iterable.kind is Kind.SEQUENCE and iterable.data:
        return join(frame.graph, list(iterable.data))
    if iterable.op == "python.range":
        return _of_range(iterable, target, frame)
    if iterable.op == "python.enumerate":
        index = _position(iterable.operands.get("start"), target, frame)
        return frame.graph.sequence([index, element_of(iterable.operands["input"], target, frame)], target)
    if iterable.op == "python.zip":
        return frame.graph.sequence(
            [element_of(v, target, frame) for v in iterable.operands.values()], target
        )
    if iterable.op == "torch.utils.data.DataLoader" and iterable.first is not None:
        return _batch_of(iterable, iterable.first, target, frame)
    if iterable.kind is Kind.LAYER:
        return layers.any_element(iterable, frame)
    if lists.is_list(iterable) and (elements := lists.elements_of(iterable)):
        return join(frame.graph, elements)
    if iterable.kind is Kind.TENSOR:
        return _rows_of("part", iterable, target, frame)
    size = some_size(iterable, target, frame)
    if size is not None:
        return size
    name = name_of(target)
    counted = annotated_element(iterable, name or iterable.name, target, frame.graph)
    return counted or frame.graph.unknown(name, target, among=[iterable])


def _batch_of(loader: Value, data: Value, target: ast.expr, frame: Frame) -> Value:
    """What a loader yields of a data set: of one made of tensors, some rows of each; of one whose class was read, samples,
    stacked."""
    if data.op == "torch.utils.data.TensorDataset":
        rows = [_rows_of("batch", v, target, frame) for v in data.operands.values()]
        return frame.graph.sequence(rows, target)
    if data.kind is Kind.INSTANCE and "collate_fn" not in loader.operands:
        method = find_method(data.data[0], "__getitem__", frame)
        if method is not None and find_method(data.data[0], "__getitems__", frame) is None:
            index = frame.graph.unknown("index", target)
            return _stacked(call_function(method, [index], data, target, frame), target, frame)
    return frame.graph.unknown(name_of(target), target)


def _stacked(sample: Value, target: ast.expr, frame: Frame) -> Value:
    """What samples become in a batch: tensors and arrays a tensor of their type, each part of a tuple for itself."""
    if sample.kind is Kind.SEQUENCE:
        return frame.graph.sequence([_stacked(v, target, frame) for v in sample.data], target)
    if sample.kind in (Kind.TENSOR, Kind.ARRAY):
        return _rows_of("stacked", sample, target, frame)
    return frame.graph.unknown(node=target)


def _rows_of(op: str, tensor: Value, target: ast.expr, frame: Frame) -> Value:
    return Value(
        op, frame.graph.fresh(), Kind.TENSOR, {"input": tensor}, tensor.interval, tensor.zero, tensor.ends,
        tensor.dtype, target, frame.module,
    )  # fmt: skip
