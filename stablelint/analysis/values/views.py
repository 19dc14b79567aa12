"""A value behind what only shows it in another shape, dtype or place, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator

from stablelint.analysis.values.value import Kind, Value
from stablelint.numerics.formats import INTEGERS
from stablelint.syntax.operations import VIEWS, having

COPIES = having("copy", "device", "cast")
TAKEN = VIEWS | {"index"}  # also parts of a value
_LAYOUT = having("layout")
_CASTS = having("cast")
_NARROW = frozenset({"float16", "bfloat16"})
SELECTORS = frozenset({"condition", "mask", "index", "dim"})
_WIDTH = 80  # values looked at


def keeps_numbers(view: Value) -> bool:
    """Whether what copies, casts or rearranges a value holds its very numbers: a cast may round them, or cut them off."""
    source = view.first
    if view.op not in _CASTS or source is None or view.dtype in (None, "float64", source.dtype):
        return True
    return source.dtype == "bool" or (view.dtype == "float32" and source.dtype in _NARROW)


def recast(value: Value) -> Value:
    """The value without copies around it, and casts that round nothing: element for element the same."""
    while value.op in COPIES and value.first is not None and keeps_numbers(value):
        value = value.first
    return value


def about(value: Value) -> Value:
    """The value without copies around it, and casts that keep fractions: element for element the same, but for rounding."""
    while value.op in COPIES and value.first is not None and value.dtype not in INTEGERS:
        value = value.first
    return value


def shown(value: Value) -> Value:
    """The value whose very numbers are shown, each in some place: without rearrangements, copies and such casts."""
    while value.op in VIEWS and value.first is not None and keeps_numbers(value):
        value = value.first
    return value


def laid_alike(one: Value, other: Value) -> tuple[Value, Value]:
    """Two values without what lays out both in the same way."""
    while one.op in _LAYOUT and one.first is not None and other.first is not None:
        if _layout(one) != _layout(other):
            break
        one, other = one.first, other.first
    return one, other


def _layout(view: Value) -> Hashable:
    """How a view lays out its operand."""
    return view.op, *((name, v.key) for name, v in list(view.operands.items())[1:])


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are element for element the same, but for copies and casts around them."""
    one, other = recast(one), recast(other)
    return one.key == other.key and (
        one.node is other.node or not any(map(_may_change, behind(one, _may_change)))
    )


def _may_change(value: Value) -> bool:
    """Whether a value is what an object's method yields, of which no more is known: the next time another, as a clock's."""
    return value.op.startswith("method.")


def is_opaque(value: Value) -> bool:
    """Whether a value is what a call yields that is not followed."""
    return value.op.startswith(("method.", "call."))


def stripped(value: Value, through: Container[str] = VIEWS) -> Value:
    """The value without rearrangements and casts around it, or without what else it is to be seen `through`."""
    while value.op in through and value.first is not None:
        value = value.first
    return value


def _numbers_of(value: Value) -> Iterable[Value]:
    """The operands whose numbers a value is made of: not what says where they lie, nor the shape that they are given."""
    if value.op in VIEWS and value.first is not None:
        return (value.first,)
    return (v for n, v in value.operands.items() if n not in SELECTORS)


def behind(value: Value, stops: Callable[[Value], bool] = lambda _: False) -> Iterator[Value]:
    """The value and what it is made of, nearest first; nothing behind what `stops`."""
    seen: set[int] = set()
    level = [value]
    while level and len(seen) < _WIDTH:
        below: list[Value] = []
        for part in level:
            if part.key in seen:
                continue
            seen.add(part.key)
            yield part
            if not stops(part):
                below.extend(_numbers_of(part))
                if part.kind is Kind.SEQUENCE and isinstance(part.data, list):
                    below.extend(part.data)
        level = below
