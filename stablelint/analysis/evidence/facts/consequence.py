"""Facts about the consequence: whether a gradient is taken, and whether the result is used."""

from __future__ import annotations

import ast

from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.provenance import is_trained
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.evidence.uses import Use
from stablelint.analysis.proof.replacement import felt_operands
from stablelint.syntax.walk import descendants

_UNREAD = frozenset({Use.LOGGED, Use.COMPARED, Use.RANKED, Use.ROUNDED})
_CATCHING = frozenset("ZeroDivisionError ArithmeticError ValueError Exception FloatingPointError".split())


@lowers
def gradient_only(s: Subject) -> bool:
    """only the gradient is bad"""
    return s.site.judgement.backward_only


@raises
def gradient_taken(s: Subject) -> bool:
    """a gradient is taken through it"""
    if not s.site.gradient:
        return False
    felt = (
        felt_operands(s.site.value, s.operand)
        if s.operand is not None
        else tuple(s.site.value.operands.values())
    )
    return any(is_trained(value, s.site.frame) for value in felt)


@lowers
def only_looked_at(s: Subject) -> bool:
    """is only logged, compared, ranked or rounded"""
    return bool(s.uses) and s.uses <= _UNREAD


@lowers
def replaced_later(s: Subject) -> bool:
    """is replaced for some elements later"""
    return s.is_replaced


@lowers
def caught(s: Subject) -> bool:
    """stands where its error is caught"""
    if s.function is None:
        return False
    tries = (
        n for n in descendants(s.function.node) if isinstance(n, ast.Try) and any(map(_catches, n.handlers))
    )
    return any(n is s.site.node for attempt in tries for part in attempt.body for n in descendants(part))


def _catches(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(name, ast.Name) and name.id in _CATCHING for name in caught)
