"""A value behind what only shows it in another shape, dtype or place."""

from __future__ import annotations

from stablelint.analysis.value import Value
from stablelint.syntax.operations import VIEWS

COPIES = frozenset(
    "clone detach contiguous cpu cuda float double half bfloat16 to type type_as requires_grad_ identity".split()
)


def recast(value: Value) -> Value:
    """The value without copies and casts around it: element for element the same."""
    while value.op in COPIES and value.first is not None:
        value = value.first
    return value


def stripped(value: Value) -> Value:
    """The value without rearrangements and casts around it."""
    while value.op in VIEWS and value.first is not None:
        value = value.first
    return value
