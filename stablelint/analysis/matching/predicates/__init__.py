"""Evaluates the `where` and `when` predicates of rule pages over a match."""

from __future__ import annotations

from stablelint.analysis.matching.predicates.context import Context
from stablelint.analysis.matching.predicates.formats import FORMAT_PREDICATES
from stablelint.analysis.matching.predicates.masks import MASK_PREDICATES
from stablelint.analysis.matching.predicates.values import VALUE_PREDICATES
from stablelint.catalog.predicates import Predicate

__all__ = ["Context", "holds"]

_TABLE = VALUE_PREDICATES | FORMAT_PREDICATES | MASK_PREDICATES


def holds(predicate: Predicate, context: Context) -> bool:
    """Whether a predicate is satisfied; one over unbound metavariables is left out."""
    if not predicate.metavariables <= context.bindings.keys():
        return True
    return _TABLE[predicate.name](predicate, context) != predicate.negated
