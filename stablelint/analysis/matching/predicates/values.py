"""Predicates about the values that metavariables are bound to: where they lie, and what they are."""

from __future__ import annotations

import math
from collections.abc import Callable

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.predicates.formats import rounds_to
from stablelint.analysis.matching.truth import Truth, all_of
from stablelint.analysis.proof.judge import CUT, TRAINED, differentiable
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.masks import holds_truth
from stablelint.analysis.values.sorts import is_floating
from stablelint.analysis.values.value import Attained, Kind, Value, believed
from stablelint.analysis.values.views import behind, stripped
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.interval import TOP, Interval


def _range(predicate: Predicate, context: Context) -> Truth:
    """Each compares so; not known where nothing shows a way to a 0 that alone does not."""
    return all_of(_compares(predicate, context, place) for place in range(len(predicate.args)))


def _compares(predicate: Predicate, context: Context, place: int) -> Truth:
    value = value_of(predicate, context, place)
    interval = context.ranges[str(predicate.args[place])].without_nan()
    known = _lies(predicate, interval, value.zero)
    if known is Truth.NO and value.assumed and isinstance(value.default(), int | float):
        return min(Truth.MAYBE, _lies(predicate, Interval.point(value.default()), Attained.EXACT))
    return known


def _lies(predicate: Predicate, interval: Interval, zero: Attained) -> Truth:
    """Whether all numbers of a range compare so; `zero` says how well founded a 0 among them is."""
    bound = float(predicate.value or 0.0)
    op = predicate.op or "=="
    low = bound if ">" in op or op == "==" else -math.inf
    high = bound if "<" in op or op == "==" else math.inf
    apart = op in ("<", ">", "!=")
    if not interval.subset_of(Interval(low, high)):
        return Truth.NO
    if not apart or not interval.contains(bound):
        return Truth.YES
    return Truth.NO if bound != 0 or zero >= Attained.SATURATION else Truth.MAYBE


def _nonnegative(predicate: Predicate, context: Context) -> Truth:
    """At least 0; not known where nothing is known of what is handed over, or of two such things that are multiplied."""
    interval = context.ranges[str(predicate.args[0])].without_nan()
    if interval.lo >= 0:
        return Truth.YES
    value = stripped(value_of(predicate, context))
    factors = [*value.operands.values()] if value.op == "mul" else [value]
    open_ended = interval == TOP.without_nan() and all(map(_is_handed_over, factors))
    return Truth.MAYBE if open_ended else Truth.NO


def _is_handed_over(value: Value) -> bool:
    """Whether a value is what a function was given, or the like."""
    inner = stripped(value)
    return inner.op in HANDED_OVER and inner.kind in (Kind.TENSOR, Kind.UNKNOWN)


def _reaches(predicate: Predicate, context: Context) -> Truth:
    value = value_of(predicate, context)
    point = float(predicate.args[-1])
    if len(predicate.args) > 2:
        number = value.default()
        known = isinstance(number, int | float)
        return rounds_to(number, point, value_of(predicate, context, 1), context) if known else Truth.NO
    if not context.ranges[str(predicate.args[0])].contains(point):
        return Truth.NO
    return Truth.of((value.zero if point == 0 else value.ends) >= Attained.SATURATION)


def _truth(predicate: Predicate, context: Context) -> Truth:
    """Truth values; not known where nothing is known of what is handed over."""
    value = value_of(predicate, context)
    if value.dtype is None and _is_handed_over(value) and stripped(value).dtype is None:
        return Truth.MAYBE
    return Truth.of(holds_truth(value))


def _integral(predicate: Predicate, context: Context) -> bool:
    value = stripped(value_of(predicate, context))
    return value.interval.integral or (value.dtype or "").startswith(("int", "uint", "bool"))


def _shifted(predicate: Predicate, context: Context) -> bool:
    """At most 0, because a maximum (or something as large) was subtracted."""
    value = value_of(predicate, context)
    return believed(value).peak is not None or context.ranges[str(predicate.args[0])].hi <= 0


def _differentiable(predicate: Predicate, context: Context) -> Truth:
    """A gradient can flow through it; that one does is seen where a trained parameter lies behind it."""
    value = value_of(predicate, context)
    if not differentiable(value, context.gradient):
        return Truth.NO
    parts = behind(value, lambda v: v.op in CUT)
    return Truth.YES if any(v.op in TRAINED for v in parts) else Truth.MAYBE


VALUE_PREDICATES: dict[str, Callable[[Predicate, Context], bool | Truth]] = {
    "range": _range,
    "nonnegative": _nonnegative,
    "reaches": _reaches,
    "literal": lambda p, context: isinstance(value_of(p, context).default(), int | float),
    "truth": _truth,
    "python": lambda p, context: value_of(p, context).kind is Kind.NUMBER,
    "tensor": lambda p, context: stripped(value_of(p, context), ("index", "part")).kind is Kind.TENSOR,
    "integral": _integral,
    "floating": lambda p, context: is_floating(value_of(p, context)),
    "shifted": _shifted,
    "differentiable": _differentiable,
    "alone": lambda p, context: True,  # what is made of it is known once the function has been seen
}
