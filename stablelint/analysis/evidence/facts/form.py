"""Facts about the form: which operation it is, and whether the way in which it is written shows the flaw."""

from __future__ import annotations

import ast

from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.forms.table import form_of
from stablelint.analysis.evidence.places import is_measured
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.values.families import MEASURES, PICKING
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.diagnostic import Status
from stablelint.syntax.operations import having

_SIZES = having("size")


@raises
def shown(s: Subject) -> bool:
    """the text shows how it goes wrong"""
    if s.site.judgement.backward_only and is_measured(s.function, s.module):
        return False  # of a figure that people read no gradient is shown to be taken
    return s.site.judgement.status is Status.VIOLATED


@raises
def telling_form(s: Subject) -> bool:
    """the form shows how the operand goes bad"""
    return form_of(s) is not None


@raises
def own_measure(s: Subject) -> bool:
    """its divisor holds a sum, mean, spread or norm of what is divided"""
    if s.site.value.op != "div" or s.operand is None:
        return False
    divided = {v.key for v in s.behind_dividend if not v.is_constant}
    parts = behind(s.operand, stops=_tells_no_values)
    measured = (v.first for v in parts if v.op in MEASURES and v.first is not None)
    return any(v.key in divided for one in measured for v in behind(one))


def _tells_no_values(value: Value) -> bool:
    """Whether it holds no values of what it was asked of: a size, or an attribute of an object."""
    return value.op in _SIZES or value.kind is Kind.FOREIGN


@lowers
def offset(s: Subject) -> bool:
    """is taken of a sum with a positive number"""
    operand = stripped(s.operand) if s.operand is not None else None
    if s.site.value.op == "log1p":
        return True
    parts = operand.operands.values() if operand is not None and operand.op == "add" else ()
    return any(part.kind is Kind.NUMBER and part.interval.lo > 0 for part in parts)


@raises
def difference_of_neighbours(s: Subject) -> bool:
    """divides by the difference of two elements of one tensor"""
    found = next((v for v in s.chain if v.op == "sub" and len(v.operands) == 2), None)
    if s.site.value.op != "div" or found is None:
        return False
    ends = [stripped(v) for v in found.operands.values()]
    return all(e.op in PICKING and e.first is not None for e in ends) and _source(ends[0]) == _source(ends[1])


def _source(picked: Value) -> int | None:
    return stripped(picked.first).key if picked.first is not None else None


@lowers
def updates(s: Subject) -> bool:
    """changes a variable in place"""
    return isinstance(s.site.statement, ast.AugAssign)
