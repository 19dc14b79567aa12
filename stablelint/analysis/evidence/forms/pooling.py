"""Statistics pooling: the mean and the spread of a sequence's positions, side by side in one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import VIEWS, having

_JOINS = having("join")
_GATHERS = _JOINS | {"phi", "clamp", "add"}
_SAMPLES = frozenset({"method.sample", "method.rsample"})
SPREADS = having("spread")
_PARTS = VIEWS | {"index", "part"}
_DEPTH = 4


def pooled_spreads(observed: Iterable[Value]) -> frozenset[int]:
    """Keys of the spreads that are joined with the mean of the same values over the same dimension.

    What is pooled so has no fixed length, or there would be no need to: a short input leaves one position. A draw has
    the length that its author wrote, and a grid has more than one point.
    """
    found: set[int] = set()
    for value in observed:
        if value.op not in _JOINS:
            continue
        parts = list(_statistics(value, _DEPTH))
        means = {_over(part) for part in parts if part.op == "mean"}
        found.update(
            part.key
            for part in parts
            if part.op in SPREADS and _over(part) in means and not (_is_drawn(part) or _is_of_a_grid(part))
        )
    return frozenset(found)


def _statistics(value: Value, depth: int) -> Iterator[Value]:
    """The reductions that a vector is put together of."""
    value = stripped(value)
    if value.op == "mean" or value.op in SPREADS:
        yield value
    elif depth and value.op in _GATHERS:
        elements = value.operands.get("tensors")
        inner = elements.data if elements is not None and elements.kind is Kind.SEQUENCE else ()
        for part in (*value.operands.values(), *inner):
            yield from _statistics(part, depth - 1)


def _is_drawn(reduction: Value) -> bool:
    """Whether a reduction is one of random numbers."""
    source = stripped(reduction.operands["input"], _PARTS)
    return source.op in DRAWN or source.op in _SAMPLES


def _is_of_a_grid(reduction: Value) -> bool:
    """Whether a reduction is over several dimensions at once: an image or a field of one point does not arise."""
    dim = reduction.operands.get("dim")
    return dim is not None and dim.kind is Kind.SEQUENCE and len(dim.data) > 1


def _over(reduction: Value) -> tuple[int, int | None]:
    """What a reduction is one of, and over which dimension."""
    dim = reduction.operands.get("dim")
    return stripped(reduction.operands["input"]).key, None if dim is None else dim.key
