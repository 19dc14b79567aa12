"""Predicates about element types and what they can hold."""

from __future__ import annotations

from collections.abc import Callable

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.values.value import Kind, Value
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.formats import BFLOAT16, FLOAT16, FORMATS, FloatFormat, round_to
from stablelint.syntax import precision

_HALF = ("float16", "bfloat16")


def _dtype(predicate: Predicate, context: Context) -> Truth:
    value = value_of(predicate, context)
    if predicate.op == "<":
        return maybe_half(value, context, precision.FLOAT16)
    if predicate.op == ">=":
        return Truth.of(is_upcast(value))
    dtype = value.dtype
    return Truth.of(dtype is not None and (dtype == predicate.value) == (predicate.op == "=="))


def maybe_half(value: Value, context: Context, *facts: str) -> Truth:
    """Whether the value can be half precision, by what is known of it, or as its file shows such a mode.

    `facts` are those of which it suffices that another file of the project shows one.
    """
    known = _is_half(value, context)
    shown = known is not Truth.MAYBE or context.half_shown or any(map(context.shows, facts))
    return known if shown else Truth.NO


def _is_half(value: Value, context: Context) -> Truth:
    """Whether the value is half precision, by its type, what it is made of, and the mode it is computed in."""
    if value.dtype is not None:
        return Truth.of(value.dtype in _HALF)
    if value.kind in (Kind.NUMBER, Kind.ARRAY) or is_upcast(value):
        return Truth.NO
    return Truth.YES if context.autocast in _HALF or context.half_used else Truth.MAYBE


def is_upcast(value: Value, depth: int = 12) -> bool:
    """Whether something that a value is made of has been cast to a wider type."""
    if depth == 0:
        return False
    if value.dtype in ("float32", "float64") or value.op in ("float", "double"):
        return True
    return any(is_upcast(v, depth - 1) for v in value.operands.values())


def _vanishes(predicate: Predicate, context: Context) -> Truth:
    """A positive constant that the other's format rounds to 0 (or to 1 where it is near 1)."""
    constant, other = value_of(predicate, context), value_of(predicate, context, 1)
    number = constant.constant()
    if not isinstance(number, int | float) or number in (0, 1):
        return Truth.NO
    if other.dtype in FORMATS:
        return Truth.of(_is_lost(float(number), FORMATS[other.dtype]))
    half = BFLOAT16 if context.autocast == "bfloat16" else FLOAT16
    return maybe_half(other, context) if _is_lost(float(number), half) else Truth.NO


def _is_lost(number: float, fmt: FloatFormat) -> bool:
    return round_to(number, fmt) in (0.0, 1.0)


FORMAT_PREDICATES: dict[str, Callable[[Predicate, Context], bool | Truth]] = {
    "dtype": _dtype,
    "vanishes": _vanishes,
}
