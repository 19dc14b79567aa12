"""Tensors without an element where a count is 0: nothing is divided by it then."""

from __future__ import annotations

from collections.abc import Iterator

from stablelint.analysis.values.relations.centres import count_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, behind, recast
from stablelint.syntax.operations import VIEWS, having

_MADE = having("filled", "blank", "draw")
_KEEPING = having("elementwise") | VIEWS | COPIES  # an operand without an element leaves a result without one


def is_empty_without(tensor: Value, count: Value) -> bool:
    """Whether a tensor has no element where `count` is 0: `arange(n)`, `rand(3, n) * x`, `zeros(n)[None]`."""
    wanted = recast(count).key
    return any(recast(extent).key == wanted for extent in _extents(tensor))


def _extents(tensor: Value) -> Iterator[Value]:
    """The counts of which a tensor has one element each, along some dimension."""
    for part in behind(tensor, lambda v: v.op not in _KEEPING):
        if part.kind is Kind.NUMBER:
            continue
        if part.op in _MADE:
            for name, size in part.operands.items():
                if name == "size" or name.startswith("more"):
                    yield from size.data if size.kind is Kind.SEQUENCE and size.data else [size]
        elif (count := part.operands.get("steps") or count_of(part)) is not None:
            yield count
