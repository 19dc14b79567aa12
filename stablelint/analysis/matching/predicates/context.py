"""What a predicate may ask about a match."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stablelint.analysis.values.value import Value
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """A match with what the path knows of its bindings."""

    root: Value
    bindings: Mapping[str, Value]
    ranges: Mapping[str, Interval]
    autocast: str | None
    half_shown: bool  # the file shows that it is run in half precision
    half_used: bool  # the file is a script that casts to half precision itself
    nonempty: frozenset[int]  # keys of what the path has shown to have an element
    selecting: frozenset[int]  # keys of masks that it has shown to hold a true element
    plural: frozenset[int]  # keys of what the path has shown to have several
    gradient: bool  # gradients are recorded at this place
    shows: Callable[[str], str | None]  # the file of the project that shows a fact about it


def value_of(predicate: Predicate, context: Context, position: int = 0) -> Value:
    """The value that an argument of the predicate is bound to."""
    return context.bindings[str(predicate.args[position])]
