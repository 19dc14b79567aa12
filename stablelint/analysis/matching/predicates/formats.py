"""What is known of element types, and of what they can hold."""

from __future__ import annotations

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.values.value import Kind, Value
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.formats import BFLOAT16, FLOAT16, FORMATS, round_to
from stablelint.syntax import precision
from stablelint.syntax.operations import having

_HALF = ("float16", "bfloat16")
_NARROWED, _WIDENED = having("narrowed"), having("widened")  # by autocast
_DEPTH = 12


def dtype(predicate: Predicate, context: Context) -> Truth:
    """Whether the element type is one, or shown to be as wide or as narrow."""
    value = value_of(predicate, context)
    if predicate.op == "<":
        return maybe_half(value, context, precision.FLOAT16, precision.MIXED)
    if predicate.op == ">=":
        return Truth.of(is_upcast(value))
    known = value.dtype
    return Truth.of(known is not None and (known == predicate.value) == (predicate.op == "=="))


def maybe_half(value: Value, context: Context, *facts: str) -> Truth:
    """Whether the value can be half precision, by what is known of it, or as its file shows such a mode.

    `facts` are those of which it suffices that another file of the project shows one.
    """
    known = _is_half(value, context)
    if known is not Truth.MAYBE or context.half_shown:
        return known
    return known if any(_is_shown(fact, value, context) for fact in facts) else Truth.NO


def _is_shown(fact: str, value: Value, context: Context) -> bool:
    """Whether another file shows a fact that bears on a value: mixed precision narrows what is made of products."""
    bears = fact != precision.MIXED or _comes_from_product(value, _DEPTH)
    return bears and bool(context.shows(fact))


def _comes_from_product(value: Value, depth: int) -> bool:
    """Whether products reach a value through nothing that autocast computes in single precision."""
    if value.op in _NARROWED or not depth:
        return value.op in _NARROWED
    given = (v for v in value.operands.values() if v.dtype is None and v.kind is Kind.TENSOR)
    return value.op not in _WIDENED and any(_comes_from_product(v, depth - 1) for v in given)


def _is_half(value: Value, context: Context) -> Truth:
    """Whether the value is half precision, by its type, what it is made of, and the mode it is computed in."""
    if value.dtype is not None:
        return Truth.of(value.dtype in _HALF)
    if value.kind in (Kind.NUMBER, Kind.ARRAY) or is_upcast(value):
        return Truth.NO
    return Truth.YES if context.autocast in _HALF or context.half_used else Truth.MAYBE


def is_upcast(value: Value) -> bool:
    """Whether something that a value is made of has been cast to a wider type."""
    seen, nearest = set[int](), [value]
    for _ in range(_DEPTH):
        if any(v.dtype in ("float32", "float64") or v.op in ("float", "double") for v in nearest):
            return True
        seen.update(map(id, nearest))
        below = {id(part): part for v in nearest for part in v.operands.values()}
        nearest = [part for place, part in below.items() if place not in seen]
    return False


def rounds_to(number: float, point: float, other: Value, context: Context) -> Truth:
    """Whether a number is another one in the element type of a value."""
    half = BFLOAT16 if context.autocast == "bfloat16" else FLOAT16
    lost = number != point and round_to(number, FORMATS.get(other.dtype or "", half)) == point
    if not lost or other.dtype in FORMATS:
        return Truth.of(lost)
    return maybe_half(other, context, precision.MIXED)
