"""Predicates about element types and what they can hold."""

from __future__ import annotations

from collections.abc import Callable

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.formats import BFLOAT16, FLOAT16, FORMATS, round_to

_HALF = ("float16", "bfloat16")


def _dtype(predicate: Predicate, context: Context) -> bool:
    dtype = value_of(predicate, context).dtype
    if dtype is None:
        return False
    return (dtype == predicate.value) == (predicate.op == "==")


def _half(predicate: Predicate, context: Context) -> bool:
    return value_of(predicate, context).dtype in _HALF


def maybe_half(value: Value, context: Context) -> bool:
    """Whether something in the program shows that the value can be half precision."""
    if value.dtype is not None:
        return value.dtype in _HALF
    if value.kind is Kind.NUMBER:
        return False
    if is_upcast(value):
        return False
    if context.autocast in _HALF or context.half_used:
        return True
    context.weak = context.weak or context.half_shown
    return context.half_shown


def is_upcast(value: Value, depth: int = 12) -> bool:
    """Whether something that a value is made of has been cast to a wider type."""
    if depth == 0:
        return False
    if value.dtype in ("float32", "float64") or value.op in ("float", "double"):
        return True
    return any(is_upcast(v, depth - 1) for v in value.operands.values())


def _maybe_half(predicate: Predicate, context: Context) -> bool:
    return maybe_half(value_of(predicate, context), context)


def _vanishes(predicate: Predicate, context: Context) -> bool:
    """A positive constant that the other's format rounds to 0 (or to 1 where it is near 1)."""
    constant, other = value_of(predicate, context), value_of(predicate, context, 1)
    number = constant.constant()
    if not isinstance(number, int | float) or number == 0:
        return False
    formats = [FORMATS[other.dtype]] if other.dtype in FORMATS else []
    if not formats and maybe_half(other, context):
        formats = [BFLOAT16 if context.autocast == "bfloat16" else FLOAT16]
    return any(round_to(float(number), f) in (0.0, 1.0) and number != 1 for f in formats)


FORMAT_PREDICATES: dict[str, Callable[[Predicate, Context], bool]] = {
    "dtype": _dtype,
    "half": _half,
    "maybe_half": _maybe_half,
    "vanishes": _vanishes,
}
