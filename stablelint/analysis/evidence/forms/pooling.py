"""Statistics pooling: the mean and the spread of a sequence's positions, side by side in one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import having

_JOINS = having("join")
_GATHERS = _JOINS | {"phi", "clamp", "add"}
SPREADS = having("spread")
_DEPTH = 4


def pooled_spreads(observed: Iterable[Value]) -> frozenset[int]:
    """Keys of the spreads that are joined with the mean of the same values over the same dimension.

    What is pooled so has no fixed length, or there would be no need to: a short input leaves one position.
    """
    found: set[int] = set()
    for value in observed:
        if value.op not in _JOINS:
            continue
        parts = list(_statistics(value, _DEPTH))
        means = {_over(part) for part in parts if part.op == "mean"}
        found.update(part.key for part in parts if part.op in SPREADS and _over(part) in means)
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


def _over(reduction: Value) -> tuple[int, int | None]:
    """What a reduction is one of, and over which dimension."""
    dim = reduction.operands.get("dim")
    return stripped(reduction.operands["input"]).key, None if dim is None else dim.key
