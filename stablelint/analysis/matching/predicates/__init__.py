"""Evaluates the `where` and `when` predicates of rule pages over a match."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stablelint.analysis.matching.predicates.context import Context
from stablelint.analysis.matching.predicates.elements import elements
from stablelint.analysis.matching.predicates.formats import dtype
from stablelint.analysis.matching.predicates.forms import form
from stablelint.analysis.matching.predicates.values import VALUE_PREDICATES
from stablelint.analysis.matching.truth import Truth, all_of
from stablelint.catalog.predicates import Predicate, parse_predicate

__all__ = ["Context", "all_hold", "holds"]

_TABLE: dict[str, Callable[[Predicate, Context], bool | Truth]] = {
    **VALUE_PREDICATES,
    "dtype": dtype,
    "form": form,
    "elements": elements,
}


def holds(predicate: Predicate, context: Context) -> Truth:
    """Whether a predicate is satisfied; one over unbound metavariables is left out."""
    if not predicate.metavariables <= context.bindings.keys():
        return Truth.YES
    found = _TABLE[predicate.name](predicate, context)
    answer = found if isinstance(found, Truth) else Truth.of(found)
    return answer.negated() if predicate.negated else answer


def all_hold(conditions: Iterable[str], context: Context) -> Truth:
    """Whether all conditions of a page are satisfied."""
    return all_of(holds(parse_predicate(text), context) for text in conditions)
