"""Assignment: to a name, an attribute, the parts of a tuple, some elements of a tensor or container."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from stablelint.analysis.interpret.objects import classes
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.decompositions import part_at
from stablelint.analysis.interpret.operations.layers import opaque
from stablelint.analysis.interpret.operations.sizes import size_of
from stablelint.analysis.interpret.paths.narrowing import kept_by
from stablelint.analysis.interpret.statements.writing import (
    STORED,
    forgotten,
    replaced,
    trained,
    written_into,
)
from stablelint.analysis.values import lists
from stablelint.analysis.values.annotations import annotated_element
from stablelint.analysis.values.families import BLANK, HANDED_OVER
from stablelint.analysis.values.indexing import is_view, keeps_all
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import FILLED, can_be_empty, selector
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.transfer import held_in
from stablelint.analysis.values.value import Attained, Belief, Kind, Value, believed, join, of_any
from stablelint.analysis.values.views import TAKEN, stripped
from stablelint.numerics.formats import FORMATS
from stablelint.numerics.interval import TOP
from stablelint.syntax.operations import VIEWING


def bind(target: ast.expr, value: Value, frame: Frame) -> None:
    """Assigns a value to a target: a name, an attribute, an element, or a pattern of those."""
    if isinstance(target, ast.Name):
        if not value.name and value.kind is not Kind.SEQUENCE:
            value.name = target.id
        if (
            value.op.startswith(("unknown", "method.", "call."))
            and value.kind is Kind.UNKNOWN
            and value.interval.lo == -math.inf
            and not value.zero
        ):
            value = _called(value, target.id)
        frame.state.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        unpack(target, value, frame)
    elif isinstance(target, ast.Starred):
        taken = value if value.kind is Kind.SEQUENCE else frame.graph.unknown(node=target, among=[value])
        bind(target.value, taken, frame)
    elif isinstance(target, ast.Attribute):
        base = frame.session.interpreter.evaluate(target.value, frame)
        if base.kind is Kind.INSTANCE and classes.set_property(base, target.attr, value, target, frame):
            return
        if base.kind is Kind.UNKNOWN:  # perhaps the very object whose method this is
            classes.forget_written({target.attr}, frame)
        if base.kind is not Kind.TENSOR or target.attr not in VIEWING:  # equal tensors need not be one
            frame.state.attributes[(base.key, target.attr)] = value
        if base.kind in (Kind.TENSOR, Kind.UNKNOWN):
            _changed_by_attribute(base, target.attr, value, frame)
    elif isinstance(target, ast.Subscript):
        assign_element(target, value, frame)


def _changed_by_attribute(base: Value, attr: str, value: Value, frame: Frame) -> None:
    """`w.requires_grad = True`, `w.data = v`: what a tensor's name stands for is another value then."""
    if attr == "requires_grad" and base.kind is Kind.TENSOR and value.constant() is not False:
        trained([base], frame)
    elif attr == "data":
        written_into(base, value, frame)


def _called(value: Value, identifier: str) -> Value:
    """The value under another name."""
    return Value(
        value.op, value.key, value.kind, value.operands, value.interval, value.zero, value.ends, value.dtype, value.node,
        value.module, value.data, identifier, value.peak, value.assumed, value.guard, origin=value.origin,
    )  # fmt: skip


def unpack(target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
    """Binds the elements of a sequence, of a reduction that returns two tensors, or of a split."""
    parts = _parts(classes.as_sequence(value, target, frame), target.elts, target, frame)
    for place, (element, part) in enumerate(zip(target.elts, parts, strict=True)):
        ignored = isinstance(element, ast.Name) and element.id.startswith("_")
        decomposed = None if ignored else part_at(value, place, value.node or target, frame)
        bind(element, decomposed or part, frame)


def _parts(value: Value, places: list[ast.expr], node: ast.AST, frame: Frame) -> list[Value]:
    count = len(places)
    starred = next((i for i, place in enumerate(places) if isinstance(place, ast.Starred)), None)
    if starred is not None:
        return _around_star(value, starred, count, node, frame)
    if value.kind is Kind.SEQUENCE and len(value.data) == count:
        return list(value.data)
    if value.op == "phi" and value.kind is Kind.UNKNOWN:  # only a path that yields as many is unpacked
        fitting = [
            v.data for v in value.operands.values() if v.kind is Kind.SEQUENCE and len(v.data) == count
        ]
        if len(fitting) == 1:
            return list(fitting[0])
    if value.op in ("chunk", "split", "unbind") or value.kind is Kind.TENSOR:
        return [_part(value, i, node, frame) for i in range(count)]
    if value.op in ("shape", "size") and value.first is not None:  # `H, W = x.shape[-2:]`
        if value.op == "size":  # of some dimensions
            return [size_of(value.first, place, frame, (value.key, i)) for i, place in enumerate(places)]
        numbers = (frame.graph.constant(i) for i in range(count))
        return [
            size_of(value.first, place, frame, i.key, i.data)
            for place, i in zip(places, numbers, strict=True)
        ]
    return [
        annotated_element(value, getattr(place, "id", value.name), place, frame.graph)
        or frame.graph.unknown(node=node, among=[value])
        for place in places
    ]


def _around_star(value: Value, starred: int, count: int, node: ast.AST, frame: Frame) -> list[Value]:
    """The parts of `first, *others = value`."""
    if value.kind is not Kind.SEQUENCE or len(value.data) < count - 1:
        return [frame.graph.unknown(node=node, among=[value]) for _ in range(count)]
    end = len(value.data) - (count - 1 - starred)
    others = frame.graph.sequence(value.data[starred:end], node)
    others.key, others.name = frame.graph.fresh(), "list"
    return [*value.data[:starred], others, *value.data[end:]]


def _part(value: Value, index: int, node: ast.AST, frame: Frame) -> Value:
    key = frame.graph.key("part", value.key, index)
    part = Value(
        "part", key, Kind.TENSOR, {"input": value}, value.interval, value.zero, value.ends, value.dtype, node,
        frame.module, index,
    )  # fmt: skip
    return of_any(part, [value])


def assign_element(target: ast.Subscript, value: Value, frame: Frame) -> None:
    """`x[mask] = c` leaves x's other elements, refined by the mask being false there."""
    evaluate = frame.session.interpreter.evaluate
    base = evaluate(target.value, frame)
    index = evaluate(target.slice, frame)
    if base.kind in (Kind.MAPPING, Kind.SEQUENCE):
        changed(base, stored(base, index, value, target, frame), target.value, frame)
        return
    if base.kind is Kind.LAYER:
        changed(base, opaque(base, frame), target.value, frame)
        return
    classes.let_run(base, frame)
    if base.kind not in STORED:
        return
    if base.kind is Kind.UNKNOWN and index.kind is Kind.STRING:
        classes.forget_written({f"[{index.key}]"}, frame)  # which another mapping may be as well
        frame.state.attributes[(base.key, f"[{index.key}]")] = value
        return
    value = _as_held(value, base, target, frame)
    mask = selector(index)
    if keeps_all(index):  # `x[:] = v`
        updated = apply("copy_", {"input": base, "src": value}, target, frame)
    elif mask.dtype == "bool" or (value.is_constant and _may_be_mask(mask)):
        kept, fill = masked(base, mask, value, frame, by_row=True)
        updated = apply("where", {"condition": mask, "input": fill, "other": kept}, target, frame)
        if _is_blank(base) and frame.loop_depth:
            updated.zero = fill.zero  # a loop fills it piece by piece
    else:
        updated = _overwritten(base, index, value, target, frame)
    if isinstance(target.value, ast.Name | ast.Attribute):
        bind(target.value, updated, frame)
        written_into(base, updated, frame)
    elif isinstance(target.value, ast.Subscript) and base.kind is not Kind.UNKNOWN and is_view(base):
        assign_element(target.value, updated, frame)  # `x[i][j] = v` writes into x
    elif base.kind is not Kind.UNKNOWN:
        written_into(base, updated, frame)  # `x.view(-1)[i] = v`
    elif isinstance(target.value, ast.Subscript):  # `found["a"][i] = v`
        written_into(base, updated, frame)
        assign_element(target.value, updated, frame)


def _as_held(value: Value, base: Value, node: ast.AST, frame: Frame) -> Value:
    """A value as the elements of `base` take it: rounded to their type, cut to whole numbers by integers, on each path."""
    literal = FORMATS if value.is_constant else ()  # which what is made of it rounds
    typed = [leaf for leaf in lists.leaves(base) if leaf.dtype is not None and leaf.dtype not in literal]
    if all(held_in(leaf.dtype, value.interval) == value.interval for leaf in typed):
        return value
    cut = [apply("to", {"input": value, "dtype": leaf}, node, frame) for leaf in typed]
    return join(frame.graph, cut if len(cut) == len(lists.leaves(base)) else [value, *cut])


def held(result: Value, base: Value, node: ast.AST, frame: Frame) -> Value:
    """What is computed in place, which is of the type of `base`, and as empty."""
    if can_be_empty(base, frame.state) and not can_be_empty(result, frame.state):
        result = replace(result, operands={**result.operands, FILLED: base})
    if base.kind is not Kind.TENSOR or result.dtype == base.dtype:
        return result
    kept = _as_held(result, base, node, frame)
    key = frame.graph.key("held", base.dtype, kept.key)
    return kept if kept.dtype == base.dtype else replace(kept, dtype=base.dtype, key=key)


def stored(container: Value, index: Value, value: Value, node: ast.AST, frame: Frame) -> Value:
    """The list or mapping after `container[index] = value`."""
    place, data = index.constant(), container.data
    if isinstance(data, dict) and isinstance(place, str | int):
        return replace(container, key=frame.graph.fresh(), data={**data, place: value})
    if not isinstance(data, list):
        return forgotten(container, node, frame, value)
    if isinstance(place, int) and -len(data) <= place < len(data):
        elements = list(data)
        elements[place] = value
        return replace(container, key=frame.graph.fresh(), data=elements)
    return lists.list_of([*data, value], None, node, frame, container)


def changed(container: Value, result: Value, target: ast.expr, frame: Frame) -> None:
    """Lets all that stands for a list or mapping stand for what it has become."""
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        bind(target, result, frame)
    replaced(container, result, frame)


def _may_be_mask(index: Value) -> bool:
    """Whether an index of which nothing is known can be a mask; a number is written at places as where one is true."""
    return index.op in HANDED_OVER and index.dtype is None and index.kind in (Kind.TENSOR, Kind.UNKNOWN)


def _is_blank(base: Value) -> bool:
    """Whether nothing was written into a tensor, or into the part of it that is meant, but its first zeros."""
    return stripped(base, TAKEN).op in BLANK


def _overwritten(base: Value, index: Value, value: Value, node: ast.AST, frame: Frame) -> Value:
    """`x[i] = v`, `x[:, :n] = v`: the old elements or the new; which were overwritten is kept as data."""
    zero = value.zero if _is_blank(base) else max(base.zero, value.zero)
    if value.is_constant and value.zero is Attained.NONE and not _is_blank(base):
        zero = min(zero, Attained.COINCIDENCE)  # a number is written where the author knows of a 0
    written = held_in(base.dtype, value.interval)
    if written.contains(0.0) and not value.interval.contains(0.0):
        zero = max(zero, Attained.SATURATION)
    interval = base.interval.join(written)
    ends = min(base.ends, value.ends) if base.ends and value.ends else Attained.NONE
    made = Value(
        "overwritten", frame.graph.fresh(), base.kind, {"input": base, "value": value}, interval, zero, ends, base.dtype,
        node, frame.module, index,
    )  # fmt: skip
    frame.observed(made)
    if base.op in ("empty", "empty_like") and value.interval != TOP:
        filled = Assumption(f"{base.name or 'what is written into'} is written everywhere")
        known, on = believed(value), value.belief.on if value.belief is not None else ()
        made.belief = Belief(known.interval, known.zero, known.ends, (*on, filled))
        return made
    return of_any(made, [base, value])


def masked(base: Value, mask: Value, fill: Value, frame: Frame, by_row: bool = False) -> tuple[Value, Value]:
    """`base` where the mask is false, and the fill, as `masked_fill` combines them; see `narrowed_by`."""
    return kept_by(mask, False, base, frame, by_row), fill
