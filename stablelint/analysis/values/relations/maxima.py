"""Maxima, what is left of a value without its maximum, and the rows in which some element attains an upper end."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

from stablelint.analysis.values.masks import made_finite
from stablelint.analysis.values.paths import Paths
from stablelint.analysis.values.relations.alignment import (
    EVERYWHERE,
    Alignment,
    alignment,
    counts_from_the_end,
    unlaid,
)
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, is_same, laid_alike, recast, shown, stripped
from stablelint.numerics.interval import NONNEGATIVE, Interval
from stablelint.records import dataclass, replace
from stablelint.syntax.operations import CASTS, VIEWS, having

Operands = Mapping[str, Value]
Ranges = Mapping[str, Interval]

_RAISED = having("raise")  # a maximum that is raised is attained by no element
_REPLACING = having("replace")
_OWNED = frozenset({"parameter", "attribute"})  # a temperature, most often: one number
NONPOSITIVE = Interval(-math.inf, 0.0, lo_open=True)
_RISING = frozenset({"exp", "exp2", "sigmoid", "softplus"})


def difference(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """What is known of a difference of related values.

    `x - max(x)` is at most 0, and so are `x - y - max(x)` of no negative y, `min(x) - x` and `x - relu(x)`; `x - min(x)`,
    `max(x) - x` and `max(x) - min(x)` are at least 0.
    """
    if op != "sub" or not {"input", "other"} <= operands.keys():
        return None
    left, right = laid_alike(recast(operands["input"]), recast(operands["other"]))
    if is_same(operands["input"], operands["other"]):
        return Interval.point(0.0) if _are_cast_alike(operands["input"], operands["other"]) else None
    if _are_ordered(left, right):
        return NONPOSITIVE
    if _are_ordered(right, left):
        return NONNEGATIVE
    beside = beside_extreme(operands)
    if beside is not None and beside[1].is_shown:
        return beside[0]
    if _is_spread(left, right):
        return NONNEGATIVE
    lowered = (
        one.is_of(above) for one in _taken_out(operands["other"]) for above in _above(operands["input"])
    )
    return Interval(-math.inf, 0.0) if any(lowered) else None


def beside_extreme(operands: Operands) -> tuple[Interval, Alignment] | None:
    """Where a difference of a value and its own extreme lies, and what must hold for that."""
    given, taken = operands["input"], operands["other"]
    for op, extreme, value, interval in (
        ("amax", taken, given, NONPOSITIVE),
        ("amin", given, taken, NONPOSITIVE),
        ("amin", taken, given, NONNEGATIVE),
        ("amax", given, taken, NONNEGATIVE),
    ):
        found = extreme_of(op, extreme)
        if found is not None and found.is_of(value):
            return interval, found.lies
    return None


def _is_spread(top: Value, bottom: Value) -> bool:
    """Whether two values are the maximum and the minimum of the same rows of a value, or of all of it."""
    ends = [(v.operands["input"], rows_of(v.operands)) for v in (top, bottom) if "input" in v.operands]
    if (top.op, bottom.op) != ("amax", "amin") or len(ends) < 2:
        return False
    (one, along), (other, over) = ends
    if "all" in (along, over):
        return shown(one).key == shown(other).key
    alike = _keeps(top) == _keeps(bottom) and along == over
    return alike and recast(one).key == recast(other).key


def _keeps(reduction: Value) -> Hashable:
    """Whether a reduction keeps its dimensions, or what says so."""
    keeps = reduction.operands.get("keepdim")
    return False if keeps is None else keeps.key if keeps.constant() is None else keeps.constant()


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
    for part, beside in _summands(recast(value)):
        if beside.hi <= 0:
            yield from _above(part)


def _taken_out(value: Value) -> Iterator[Extreme]:
    """The maxima that a value is at least: `max(x)` of `max(x) + y` where no y is negative."""
    top = extreme_of("amax", value)
    if top is not None and top.lies.is_shown:
        yield top
    for part, beside in _summands(recast(value)):
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
    """Whether one of two values is the larger one of the other and something, or the other the smaller one."""
    if any(one.key == low.key for one in larger_of(high)) or any(
        one.key == high.key for one in smaller_of(low)
    ):
        return True
    return not {one.key for one in larger_of(high)}.isdisjoint(one.key for one in smaller_of(low))


def larger_of(value: Value) -> list[Value]:
    """What a value is the larger one of, element by element: `maximum(x, y)`, `clamp(x, min=y)`, `relu(x)`."""
    return _chosen_of(value, "maximum", "min", "max")


def smaller_of(value: Value) -> list[Value]:
    """What a value is the smaller one of, element by element: `minimum(x, y)`, `clamp(x, max=y)`."""
    return _chosen_of(value, "minimum", "max", "min")


def _chosen_of(value: Value, op: str, bound: str, other: str) -> list[Value]:
    held = value.operands
    if value.op == op or (value.op == "clamp" and bound in held and other not in held):
        return [recast(v) for v in held.values()]
    return [recast(held["input"])] if value.op == "relu" and op == "maximum" and "input" in held else []


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
    numbers = [part.constant() for part in parts]
    if all(isinstance(number, int) for number in numbers):
        return frozenset(numbers)
    return ("dim", dim.key)


def stays(rows: Hashable) -> bool:
    """Whether rows are those of the same dimensions where another operand adds some in front: those counted from the end."""
    return not isinstance(rows, frozenset) or all(dim < 0 for dim in rows)


def runs_over(along: Hashable, rows: Hashable) -> bool:
    """Whether a reduction takes in a whole row of `rows` for each number that it yields."""
    if along == rows or (along == "all" and rows is not None):
        return True
    return isinstance(along, frozenset) and isinstance(rows, frozenset) and rows <= along


@dataclass(frozen=True, slots=True)
class Extreme:
    """A maximum, or more, or a minimum, that lies beside each of the rows that it was taken of."""

    operand: Value
    attained: Hashable  # the rows in each of which some element attains it; None where none need
    of_all: bool = False  # wherever an element stands
    lies: Alignment = EVERYWHERE

    def is_of(self, value: Value) -> bool:
        """Whether it is an extreme of a value."""
        bare = shown if self.of_all else recast
        return bare(self.operand).key == bare(value).key


def extreme_of(op: str, value: Value, after: Sequence[Value] = ()) -> Extreme | None:
    """The maximum (`amax`), or more, or the minimum that a value is, where it can be taken out of its operand row by row.

    It comes to lie there by the views `after` it, innermost first.
    """
    value, within = unlaid(value)
    views = [*within, *after]
    grouped = _group_maximum(value) if op == "amax" else None
    if grouped is not None:
        return Extreme(grouped, ("group", stripped(value.operands["index"]).key), of_all=True)
    if value.op in _REPLACING or (op == "amax" and value.op in _RAISED):
        return _changed(op, value, views)
    if op == "amax" and _is_global_maximum(value):
        return Extreme(value.operands["input"], "pool", of_all=True)
    if value.op not in (op, "logsumexp" if op == "amax" else op) or "input" not in value.operands:
        return None
    rows = rows_of(value.operands)
    lies = EVERYWHERE if rows == "all" else alignment(value, views)
    if lies is None:
        return None
    # A log-sum-exp is not below the maximum.
    return Extreme(value.operands["input"], rows if value.op == op else None, rows == "all", lies)


def _changed(op: str, value: Value, views: Sequence[Value]) -> Extreme | None:
    """The extreme that is raised, or of which what is not finite is replaced, and then laid out by `views`."""
    if value.op in _REPLACING:
        kept = made_finite(value)
        parts = [kept] if kept is not None else []
    else:
        parts = list(value.operands.values()) if "max" not in value.operands else []
    found = next(filter(None, (extreme_of(op, part, views) for part in parts)), None)
    beside = [v for v in parts if v.kind is not Kind.NUMBER]
    if found is None or not (found.of_all or len(beside) == 1 or all(map(counts_from_the_end, views))):
        return None  # another operand may have dimensions that the maximum has not
    infinite = found.operand.interval.contains(-math.inf)
    return replace(found, attained=None) if value.op in _RAISED or infinite else found


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


def own_maximum(operands: Operands) -> Extreme | None:
    """The maximum of a value that is subtracted from the value."""
    taken = extreme_of("amax", operands["other"])
    return taken if taken is not None and taken.is_of(operands["input"]) else None


def peaks(op: str, operands: Mapping[str, Value]) -> Hashable:
    """The rows of the result in each of which some element attains the upper end of its interval; None where none are."""
    first = next(iter(operands.values()), None)
    if op == "one_hot":
        return frozenset({-1})
    if op == "sub" and {"input", "other"} <= operands.keys():
        taken = own_maximum(operands)
        return taken.attained if taken is not None and taken.lies.is_shown else None
    if first is None:
        return None
    other = operands.get("other")
    if op in ("mul", "div") and other is not None:
        for peaked, scale in ((first, other), (other, first))[: 2 if op == "mul" else 1]:
            still_zero = peaked.interval.hi == 0 and (scale.op in _OWNED or stays(peaked.peak))
            if peaked.peak and (still_zero or scale.kind is Kind.NUMBER):
                return peaked.peak if scale.interval.lo > 0 or _is_scale(scale) else None
        return None
    kept = op in _RISING or op in COPIES or (op in VIEWS and first.peak == "all")
    return first.peak if kept else None


def _is_scale(value: Value) -> bool:
    """A number or a parameter that multiplies a shifted exponent: a temperature, taken to be positive."""
    if value.op == "phi":
        return all(_is_scale(path) for path in value.operands.values())
    scalar = value.kind is Kind.NUMBER or value.op in _OWNED
    return value.interval.lo > 0 or (scalar and value.interval.hi > 0)
