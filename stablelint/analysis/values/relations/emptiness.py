"""Tensors without an element where a count is 0: nothing is divided by it then."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stablelint.analysis.values.relations.centres import count_of
from stablelint.analysis.values.selections import positive_if
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, recast
from stablelint.syntax.operations import VIEWS, having

_MADE = having("filled", "blank", "draw")
_SHOWING = VIEWS | COPIES  # of these the first operand, of the others each that has no element leaves none
_KEEPING = having("elementwise") | _SHOWING


def is_empty_without(tensor: Value, count: Value) -> bool:
    """Whether a tensor has no element where `count` is 0: `arange(n)`, `rand(3, n) * x`, `zeros(n)[None]`."""
    wanted = recast(count).key
    return any(recast(extent).key == wanted for extent in _extents(tensor))


def is_empty_unless(tensor: Value, assumed: Collection[str]) -> bool:
    """Whether a tensor has no element where one of these assumptions fails, since each is that of one of its sizes."""
    own = {one.text for extent in _extents(tensor) for one in positive_if(extent)} if assumed else set()
    return bool(assumed) and own.issuperset(assumed)


def _extents(tensor: Value) -> Iterator[Value]:
    """The counts of which a tensor has one element each, along some dimension."""
    pending, seen = [tensor], {tensor.key}
    for part in pending:  # grows while it is walked
        if part.op in _KEEPING:
            given = [part.first] if part.op in _SHOWING else part.operands.values()
            new = [v for v in given if v is not None and v.kind is not Kind.NUMBER and v.key not in seen]
            seen.update(v.key for v in new)
            pending += new
        elif part.op in _MADE and "input" not in part.operands:
            for name, size in part.operands.items():
                if name == "size" or name.startswith("more"):
                    yield from size.data if size.kind is Kind.SEQUENCE and size.data else [size]
        elif (count := part.operands.get("steps") or count_of(part)) is not None:
            yield count
