"""What is written into a tensor in place is there for every name and view of it; what is trained has no first value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from stablelint.analysis.values import lists
from stablelint.analysis.values.state import HELD, Frame
from stablelint.analysis.values.value import Attained, Kind, Value, join
from stablelint.syntax.operations import having

# What may yield the very elements of its operand, and not a copy of them.
_SHARING = having("alias", "may-alias")
_DEPTH = 8
STORED = (Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN)  # what may have elements in memory


def written_into(target: Value, result: Value, frame: Frame) -> None:
    """Lets all that shares elements with `target` know that `result` was written into it.

    A name of the same tensor stands for the result; of a view of it, or of what it is a view of, nothing is known.
    """

    def renewed(value: Value) -> Value:
        if value.key == target.key and value.kind in STORED:
            return result
        return Value(
            "written",
            frame.graph.fresh(),
            value.kind,
            dtype=value.dtype,
            node=result.node,
            module=frame.module,
        )

    roots = {target.key, *_storage(target, _DEPTH)}
    _replace(roots, result, renewed, frame)
    around = frame.closure
    while around is not None:  # what a nested function writes is there once it is called
        lost = Value("written", frame.graph.fresh(), Kind.TENSOR, node=result.node, module=frame.module)
        _replace(roots, lost, None, around)
        around = around.closure


def hand_back(inner: Frame | None, given: Mapping[str, Value], frame: Frame) -> None:
    """Lets the caller's names know what a body has written into its arguments; all of it where it was not run."""
    if inner is None:
        for value in given.values():
            written_into(value, Value("written", frame.graph.fresh(), value.kind, dtype=value.dtype), frame)
        return
    ends = [*inner.exits, *([] if inner.state.dead else [inner.state])]
    for name in inner.wrote & given.keys():
        left = [state.names[HELD + name] for state in ends]
        if left:
            written_into(given[name], join(frame.graph, left), frame)


def forgotten(container: Value, node: ast.AST, frame: Frame) -> Value:
    """A list or mapping with elements that are not known."""
    if container.kind is Kind.MAPPING:
        return Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=node, name=container.name)
    return lists.list_of([], None, node, frame, container)


def replaced(container: Value, result: Value, frame: Frame) -> None:
    """Lets all that stands for a list or mapping stand for what it has become."""
    for places in _tables(frame):
        places.update({place: result for place, v in places.items() if v.key == container.key})


def trained(values: Iterable[Value], frame: Frame) -> None:
    """Takes their first value from all that stands for one of `values`: an optimizer changes it."""
    for value in list(values):
        if value.kind is Kind.SEQUENCE:
            trained(value.data, frame)
        elif value.kind is Kind.MAPPING and isinstance(value.data, dict):
            trained(value.data.values(), frame)
        elif value.kind is Kind.TENSOR and value.op != "parameter":
            _replace(_storage(value, _DEPTH), trainable(value, frame), None, frame)


def trainable(value: Value, frame: Frame) -> Value:
    """A tensor that asks for a gradient: any finite value once it has been trained."""
    return Value(
        "parameter", frame.graph.fresh(), Kind.TENSOR, {"data": value}, zero=Attained.COINCIDENCE,
        ends=Attained.COINCIDENCE, dtype=value.dtype, node=value.node, module=frame.module, name=value.name,
    )  # fmt: skip


def _replace(roots: set[int], result: Value, renewed: Callable[[Value], Value] | None, frame: Frame) -> None:
    """Puts `result`, or what is `renewed`, for all names and attributes that share elements with one of `roots`."""
    for places in _tables(frame):
        for place, value in places.items():
            if value is result or value.key == result.key or value.kind not in STORED:
                continue
            if not roots.isdisjoint(_storage(value, _DEPTH)):
                if isinstance(place, str) and place.startswith(HELD):
                    frame.wrote.add(place.removeprefix(HELD))
                places[place] = renewed(value) if renewed is not None else result


def _tables(frame: Frame) -> tuple[dict[object, Value], ...]:
    """The names and the attributes that stand for values."""
    return (frame.state.names, frame.state.attributes)  # type: ignore[return-value]


def _storage(value: Value, depth: int) -> set[int]:
    """Keys of the tensors in which the elements of a value may lie."""
    while value.op in _SHARING and value.first is not None:
        value = value.first
    if value.op != "phi" or not depth:
        return {value.key}
    return {key for path in value.operands.values() for key in _storage(path, depth - 1)} | {value.key}
