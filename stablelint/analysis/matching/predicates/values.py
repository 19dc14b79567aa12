"""Predicates about the values that metavariables are bound to: where they lie, and what they are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.proof.judge import TRAINED, differentiable
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.relations.pairs import is_displacement, is_of_all_pairs
from stablelint.analysis.values.relations.vanishing import is_masked_difference
from stablelint.analysis.values.sorts import is_floating
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.interval import TOP, Interval


def _range(predicate: Predicate, context: Context) -> bool:
    interval = replace(context.ranges[str(predicate.args[0])], nan=False)
    bound = float(predicate.value or 0.0)
    op = predicate.op or "=="
    if op in (">", ">="):
        region = Interval(bound, float("inf"), lo_open=op == ">")
    elif op in ("<", "<="):
        region = Interval(float("-inf"), bound, hi_open=op == "<")
    elif op == "==":
        return interval.is_point and interval.lo == bound
    else:
        return not interval.contains(bound)
    return interval.subset_of(region)


def _nonnegative(predicate: Predicate, context: Context) -> Truth:
    """At least 0; not known where nothing is known of what is handed over."""
    interval = context.ranges[str(predicate.args[0])]
    if interval.lo >= 0:
        return Truth.YES
    return Truth.MAYBE if interval == TOP and _is_handed_over(value_of(predicate, context)) else Truth.NO


def _is_handed_over(value: Value) -> bool:
    inner = stripped(value)
    return inner.op in HANDED_OVER and inner.kind in (Kind.TENSOR, Kind.UNKNOWN)


def _positive(predicate: Predicate, context: Context) -> Truth:
    """Both are above 0; it is not known where nothing shows a way to the 0 that is in their range."""
    answer = Truth.YES
    for place, name in enumerate(predicate.args):
        interval = context.ranges[str(name)]
        if interval.lo > 0 or (interval.lo == 0 and interval.lo_open):
            continue
        shown = interval.lo < 0 or value_of(predicate, context, place).zero >= Ground.SATURATION
        answer = min(answer, Truth.NO if shown else Truth.MAYBE)
    return answer


def _reaches(predicate: Predicate, context: Context) -> bool:
    value = value_of(predicate, context)
    point = float(predicate.args[1])
    if not context.ranges[str(predicate.args[0])].contains(point):
        return False
    return (value.zero if point == 0 else value.ends) >= Ground.SATURATION


def _overflows(predicate: Predicate, context: Context) -> Truth:
    """A sum over it can leave float16; how many elements there are, and how large, is seldom known."""
    within = context.ranges[str(predicate.args[0])].subset_of(Interval(-1.0, 1.0))
    return Truth.NO if within else Truth.MAYBE


def _literal(predicate: Predicate, context: Context) -> bool:
    return isinstance(value_of(predicate, context).constant(), int | float)


def _exponent(predicate: Predicate, context: Context) -> Truth:
    sort = _EXPONENTS[str(predicate.value)](value_of(predicate, context))
    answer = sort if isinstance(sort, Truth) else Truth.of(sort)
    return answer if predicate.op == "==" else answer.negated()


def _fractional(value: Value) -> bool:
    number = value.constant()
    return isinstance(number, float) and not number.is_integer()


def _chosen(value: Value) -> Truth:
    """A caller may choose any number: the default is whole, but it is written, or annotated, as a float."""
    number = value.constant()
    if number is not None and (not value.assumed or not isinstance(number, int | float) or number % 1):
        return Truth.NO
    if isinstance(number, float):
        return Truth.MAYBE
    parameter = value.node
    if (number is None and value.op != "argument") or not isinstance(parameter, ast.arg):
        return Truth.NO
    annotated = isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "float"
    return Truth.MAYBE if annotated else Truth.NO


def _inverse(value: Value) -> bool:
    """One over a value, or that and a whole number: `1 / alpha - 1`."""
    value = stripped(value)
    while value.op in ("add", "sub") and value.operands["other"].is_constant:
        value = stripped(value.operands["input"])
    dividend, divisor = value.operands.get("input"), value.operands.get("other")
    if value.op != "div" or dividend is None or divisor is None:
        return False
    return isinstance(dividend.constant(), int | float) and not divisor.is_constant


def _learned(value: Value, depth: int = 4) -> bool:
    value = stripped(value)
    if value.op != "phi" or not depth:
        return value.op == "parameter"
    return any(_learned(path, depth - 1) for path in value.operands.values())


_EXPONENTS: dict[str, Callable[[Value], bool | Truth]] = {
    "fractional": _fractional,
    "chosen": _chosen,
    "inverse": _inverse,
    "learned": _learned,
}


def _tensor(predicate: Predicate, context: Context) -> bool:
    return value_of(predicate, context).kind in (Kind.TENSOR, Kind.UNKNOWN)


def _python(predicate: Predicate, context: Context) -> bool:
    return value_of(predicate, context).kind is Kind.NUMBER


def _integral(predicate: Predicate, context: Context) -> bool:
    value = stripped(value_of(predicate, context))
    return value.interval.integral or (value.dtype or "").startswith(("int", "uint", "bool"))


def _floating(predicate: Predicate, context: Context) -> bool:
    return is_floating(value_of(predicate, context))


def _boolean(predicate: Predicate, context: Context) -> Truth:
    """Truth values; not known where nothing is known of what is handed over."""
    value = value_of(predicate, context)
    known = value.dtype or stripped(value).dtype
    if known is None and _is_handed_over(value):
        return Truth.MAYBE
    return Truth.of(known == "bool")


def _shifted(predicate: Predicate, context: Context) -> bool:
    """At most 0, because a maximum (or something as large) was subtracted."""
    value = value_of(predicate, context)
    return value.peak is not None or context.ranges[str(predicate.args[0])].hi <= 0


def _single(predicate: Predicate, context: Context) -> Truth:
    """Nothing shows that the reduction runs over more than one element."""
    value = stripped(value_of(predicate, context))
    if value.key in context.plural or value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return Truth.NO
    return Truth.MAYBE


def _can_vanish(predicate: Predicate, context: Context) -> Truth:
    """All elements can be 0 at once, as a row that is paired with itself shows, and nothing excludes of raw data."""
    value = value_of(predicate, context)
    return Truth.YES if is_masked_difference(value) or is_of_all_pairs(value) else Truth.MAYBE


def _displacement(predicate: Predicate, context: Context) -> Truth:
    """Rows of one tensor are taken from each other; whether any two of them are equal is not known."""
    return Truth.MAYBE if is_displacement(value_of(predicate, context)) else Truth.NO


def _differentiable(predicate: Predicate, context: Context) -> Truth:
    """A gradient can flow through it; that one does is seen where a trained parameter lies behind it."""
    value = value_of(predicate, context)
    if not differentiable(value, context.gradient):
        return Truth.NO
    return (
        Truth.YES if any(v.op in TRAINED for v in behind(value, lambda v: v.op == "detach")) else Truth.MAYBE
    )


def _keyword(predicate: Predicate, context: Context) -> bool:
    return str(predicate.args[0]) in context.root.operands


VALUE_PREDICATES: dict[str, Callable[[Predicate, Context], bool | Truth]] = {
    "range": _range,
    "nonnegative": _nonnegative,
    "positive": _positive,
    "reaches": _reaches,
    "overflows": _overflows,
    "literal": _literal,
    "exponent": _exponent,
    "tensor": _tensor,
    "python": _python,
    "integral": _integral,
    "floating": _floating,
    "boolean": _boolean,
    "shifted": _shifted,
    "single": _single,
    "differentiable": _differentiable,
    "can_vanish": _can_vanish,
    "displacement": _displacement,
    "keyword": _keyword,
}
