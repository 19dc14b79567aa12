"""What an index says: its parts, and whether it takes anything away."""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.operations import having

PAIR = "pair"
"""What a reduction carries that yields more than one result; it is known by the name of the first alone."""

_WITH_PLACES = having("places")
_REDUCING = having("reduce")  # of all elements they give the value alone


def parts_of(index: Value) -> list[Value]:
    """The parts of an index, one for each dimension that it speaks of: `[i, :, None]` has three."""
    return list(index.data) if index.kind is Kind.SEQUENCE else [index]


def keeps_all(index: Value) -> bool:
    """Whether an index takes nothing away, though it may add dimensions: `x[:, None]`, `x[..., None]`."""
    return all(map(_is_whole, parts_of(index)))


def adds_dimensions(index: Value) -> bool:
    """Whether an index adds dimensions: `x[None]`."""
    return any(part.kind is Kind.NONE for part in parts_of(index))


def _is_whole(part: Value) -> bool:
    if part.op == "slice":
        return all(bound.kind is Kind.NONE for bound in part.data)
    return part.kind is Kind.NONE or (part.is_constant and part.data is Ellipsis)


def gives_places(reduction: Value) -> bool:
    """Whether what is found comes with where it is: `x.max(1)` and `x.sort()`, and not `x.amax(1)`."""
    along = reduction.op in _WITH_PLACES or (reduction.op in _REDUCING and "dim" in reduction.operands)
    return reduction.data is PAIR and along and reduction.kind is not Kind.ARRAY


def is_view(selected: Value) -> bool:
    """Whether a selection shares its elements with what it was made from: no mask and no list of places does."""
    index = selected.operands.get("index")
    return selected.op == "index" and index is not None and index.dtype is None
