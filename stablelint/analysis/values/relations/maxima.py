"""Maxima, what is left of a value without its maximum, and the rows in which some element attains an upper end."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping

from stablelint.analysis.values.paths import Paths
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, is_same, stripped
from stablelint.numerics.interval import NONNEGATIVE, Interval
from stablelint.syntax.operations import CASTS, VIEWS, having

Operands = Mapping[str, Value]
Ranges = Mapping[str, Interval]

_RAISED = having("raise")  # a maximum that is raised is attained by no element
_FINITE = having("replace", "raise")  # a shift made finite for empty rows
_RISING = frozenset({"exp", "exp2", "sigmoid", "softplus"})


def difference(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """What is known of a difference of related values.

    `x - max(x)` is at most 0, and so is `x - y - max(x)` of no negative y; `x - min(x)` and `max(x) - min(x)` are at
    least 0.
    """
    if op != "sub" or not {"input", "other"} <= operands.keys():
        return None
    left, right = stripped(operands["input"]), stripped(operands["other"])
    if is_same(operands["input"], operands["other"]):
        return Interval.point(0.0) if _are_cast_alike(operands["input"], operands["other"]) else None
    if _are_ordered(left, right):
        return Interval(-math.inf, 0.0, lo_open=True)
    if _are_ordered(right, left):
        return NONNEGATIVE
    top, bottom = maximum_taken_out(operands["other"]), _extreme_of(right, "amin")
    finite = Interval(-math.inf, 0.0, lo_open=True)
    if (top is not None and _covers(top[0], left)) or _is_larger_of(right, left):
        return finite
    left_top = _extreme_of(left, "amax")
    if bottom is not None and (
        bottom.key == left.key or (left_top is not None and left_top.key == bottom.key)
    ):
        return NONNEGATIVE
    lowered = (_covers(maximum[0], above) for maximum in _taken_out(right) for above in _above(left))
    return Interval(-math.inf, 0.0) if any(lowered) else None


def _are_cast_alike(one: Value, other: Value) -> bool:
    """Whether no cast lies around one of two values alone, which rounds it: `x.half() - x` is not 0."""
    return one.dtype == other.dtype and _casts_of(one) == _casts_of(other)


def _casts_of(value: Value) -> list[Hashable]:
    """What a value has been cast to, of copies of copies: types, and what else may name one."""
    found: list[Hashable] = []
    while value.op in COPIES and value.first is not None:
        given = value.data if isinstance(value.data, Value) and not value.data.is_constant else None
        if value.op in CASTS or value.dtype != value.first.dtype:
            found.append(CASTS.get(value.op, value.dtype))
        elif given is not None:
            found.append(given.key)
        value = value.first
    return found


def _above(value: Value) -> Iterator[Value]:
    """What a value is at most: itself, `x` of `x - y` where no y is negative."""
    yield value
    for part, beside in _summands(value):
        if beside.hi <= 0:
            yield from _above(stripped(part))


def _taken_out(value: Value) -> Iterator[tuple[Value, Hashable]]:
    """The maxima that a value is at least: `max(x)` of `max(x) + y` where no y is negative."""
    top = maximum_taken_out(value)
    if top is not None:
        yield top
    for part, beside in _summands(value):
        if beside.lo >= 0:
            yield from _taken_out(part)


def _summands(value: Value) -> Iterator[tuple[Value, Interval]]:
    """Each of the two that are added, with the range of the other; what is subtracted is added with the other sign."""
    if value.op in ("add", "sub") and {"input", "other"} == value.operands.keys():
        first, second = value.operands["input"], value.operands["other"]
        given = second.interval
        yield first, given if value.op == "add" else Interval(-given.hi, -given.lo)
        if value.op == "add":
            yield second, first.interval


def _are_ordered(low: Value, high: Value) -> bool:
    """Whether two values are the minimum and the maximum of the same two."""
    if (low.op, high.op) != ("minimum", "maximum"):
        return False
    return {v.key for v in low.operands.values()} == {v.key for v in high.operands.values()}


def _is_larger_of(larger: Value, value: Value) -> bool:
    """Whether a value is the larger one of two, of which the other value is one."""
    return larger.op == "maximum" and any(stripped(v).key == value.key for v in larger.operands.values())


def is_span(value: Value) -> bool:
    """Whether a value is the larger of two ends less the smaller of two starts: 0 only if both things are nothing."""
    value = stripped(value)
    if value.op != "sub" or "other" not in value.operands:
        return False
    return (stripped(value.operands["input"]).op, stripped(value.operands["other"]).op) == (
        "maximum",
        "minimum",
    )


def is_span_on_a_path(top: Value, bottom: Value) -> bool:
    """Whether one path brings the maximum and the minimum of the same values, as training does for what it then keeps."""
    one, other = stripped(top), stripped(bottom)
    if one.op != "phi" or other.op != "phi" or len(one.operands) != len(other.operands):
        return False
    if (
        not isinstance(one.data, Paths)
        or not isinstance(other.data, Paths)
        or one.data.tests != other.data.tests
    ):
        return False
    pairs = zip(one.operands.values(), other.operands.values(), strict=True)
    spans = (difference("sub", {"input": a, "other": b}, {}) for a, b in pairs)
    return any(span is not None and span.lo == 0 and span.hi > 0 for span in spans)


def rows_of(reduction: Mapping[str, Value]) -> Hashable:
    """The rows that a reduction with these operands makes one number of: "all", its dimensions, or what tells them.

    Two reductions run along the same rows where this is the same of both.
    """
    dim = reduction.get("dim")
    if dim is None or dim.kind is Kind.NONE:
        return "all"
    parts = dim.data if dim.kind is Kind.SEQUENCE else [dim]
    numbers = [part.constant() for part in parts if not part.assumed]
    if len(numbers) == len(parts) and all(isinstance(n, int) for n in numbers):
        return frozenset(numbers)
    return ("dim", dim.key)


def runs_over(along: Hashable, rows: Hashable) -> bool:
    """Whether a reduction takes in a whole row of `rows` for each number that it yields."""
    if along == rows or (along == "all" and rows is not None):
        return True
    return isinstance(along, frozenset) and isinstance(rows, frozenset) and rows <= along


def maximum_taken_out(value: Value) -> tuple[Value, Hashable] | None:
    """The operand, and the rows, of a maximum, or more, that can be subtracted from it row by row.

    The rows are None where no element need attain it.
    """
    reshaped = False
    while value.op in VIEWS and value.first is not None:
        reshaped = reshaped or value.op not in COPIES
        value = value.first
    grouped = _group_maximum(value)
    if grouped is not None:
        return grouped, ("group", stripped(value.operands["index"]).key)
    if value.op in _FINITE and value.first is not None and "max" not in value.operands:
        inner = [maximum_taken_out(v) for v in value.operands.values()]
        found = next((v for v in inner if v is not None), None)
        return found if found is None or value.op not in _RAISED else (found[0], None)
    if _is_global_maximum(value):
        return stripped(value.operands["input"]), "pool"
    if value.op not in ("amax", "logsumexp") or "input" not in value.operands:
        return None
    rows = rows_of(value.operands)
    keeps = value.operands.get("keepdim")
    lies_beside = (
        rows in ("all", frozenset({0})) or reshaped or (keeps is not None and keeps.constant() is not False)
    )
    attained = rows if value.op == "amax" else None  # a log-sum-exp is not below the maximum
    return (stripped(value.operands["input"]), attained) if lies_beside else None


def _covers(whole: Value, part: Value) -> bool:
    """Whether a value is another, or the other on one of its paths."""
    return whole.key == part.key or (
        whole.op == "phi" and any(stripped(v).key == part.key for v in whole.operands.values())
    )


def _group_maximum(value: Value) -> Value | None:
    """The operand of a grouped maximum that was gathered back: `full(-inf).scatter_reduce(x, "amax")[index]`."""
    if value.op != "index" or value.first is None:
        return None
    grouped = stripped(value.first)
    reduce = grouped.operands.get("reduce")
    source = grouped.operands.get("src")
    is_maximum = reduce is not None and reduce.constant() in ("amax", "max")
    return stripped(source) if grouped.op == "scatter_reduce" and is_maximum and source is not None else None


def _is_global_maximum(value: Value) -> bool:
    """Whether a pooling takes the maximum over everything: one output in each dimension."""
    size = value.operands.get("output_size")
    return value.op.startswith("adaptive_max_pool") and size is not None and size.constant() == 1


def _extreme_of(value: Value, op: str) -> Value | None:
    if value.op == op:
        return stripped(value.operands["input"])
    if value.op in _FINITE:
        inner = [_extreme_of(stripped(v), op) for v in value.operands.values()]
        return next((v for v in inner if v is not None), None)
    return None


def peaks(op: str, operands: Mapping[str, Value]) -> Hashable:
    """The rows of the result in each of which some element attains the upper end of its interval; None where none are."""
    first = next(iter(operands.values()), None)
    if op == "one_hot":
        return frozenset({-1})
    if op == "sub" and {"input", "other"} <= operands.keys():
        left, taken = stripped(operands["input"]), maximum_taken_out(operands["other"])
        return taken[1] if taken is not None and _covers(taken[0], left) else None
    if first is None:
        return None
    other = operands.get("other")
    if op in ("mul", "div") and other is not None:
        for peaked, scale in ((first, other), (other, first))[: 2 if op == "mul" else 1]:
            if peaked.peak and (peaked.interval.hi == 0 or scale.kind is Kind.NUMBER):
                return peaked.peak if scale.interval.lo > 0 or _is_scale(scale) else None
        return None
    kept = op in _RISING or op in COPIES or (op in VIEWS and first.peak == "all")
    return first.peak if kept else None


def _is_scale(value: Value) -> bool:
    """A number or a parameter that multiplies a shifted exponent: a temperature, taken to be positive."""
    if value.op == "phi":
        return all(_is_scale(path) for path in value.operands.values())
    scalar = value.kind is Kind.NUMBER or value.op in ("parameter", "attribute")
    return value.interval.lo > 0 or (scalar and value.interval.hi > 0)
