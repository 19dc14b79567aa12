"""Facts about the form: which operation it is, and whether the way in which it is written shows the flaw."""

from __future__ import annotations

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.forms.table import form_of
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.evidence.zeros import counts_a_test
from stablelint.analysis.matching.shadows import has_contract
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.diagnostic import Status

_EXPONENTIALS = frozenset("exp exp2 expm1 sinh cosh".split())
_ROOTS = frozenset("sqrt rsqrt pow".split())
_SQUARES = frozenset("pow square mul".split())
_PICKS = frozenset("index gather part amax amin max min select".split())


@raises
def shown(s: Subject) -> bool:
    """known operations lead to the bad operand"""
    return s.site.judgement.status is Status.VIOLATED


@raises
def telling_form(s: Subject) -> bool:
    """the form shows how the operand goes bad"""
    return form_of(s) is not None


@raises
def better_form(s: Subject) -> bool:
    """a form that is stable has a name"""
    return not has_contract(s.site) and s.site.rule.family in ("overflow", "domain")


@lowers
def loses_digits(s: Subject) -> bool:
    """only digits are lost"""
    return s.site.rule.expect == "inaccurate"


@raises
def wrong_value(s: Subject) -> bool:
    """the value is another than what is meant"""
    return s.site.rule.expect in ("wrong", "structural")


@lowers
def quotient(s: Subject) -> bool:
    """is a division"""
    return s.site.value.op in ("div", "reciprocal", "floor_divide", "remainder")


@raises
def logarithm(s: Subject) -> bool:
    """is a logarithm"""
    return s.site.value.op in LOGARITHMS or s.site.value.op == "log1p"


@lowers
def of_masked(s: Subject) -> bool:
    """is taken over what a mask leaves"""
    return s.site.rule.family == "masking" and s.site.rule.expect == "non-finite"


@lowers
def of_precision(s: Subject) -> bool:
    """depends on the precision in which it runs"""
    return s.site.rule.family in ("precision", "amp")


@lowers
def of_training(s: Subject) -> bool:
    """is an order of a training loop"""
    return s.site.rule.family == "training"


@lowers
def taste(s: Subject) -> bool:
    """is a matter of taste where it stands"""
    return s.site.rule.taste


@raises
def own_measure(s: Subject) -> bool:
    """divides a value by its own measure"""
    if s.site.value.op != "div" or s.operand is None:
        return False
    divided = {v.key for v in s.behind_dividend}
    return any(v.key in divided for v in s.behind_operand if not v.is_constant)


@raises
def scale_of_logarithm(s: Subject) -> bool:
    """exponentiates what is called the logarithm of a scale"""
    return s.site.value.op in _EXPONENTIALS and any(
        words.names_a_logarithm(v.name) for v in s.behind_operand if v.name
    )


@raises
def share_of_count(s: Subject) -> bool:
    """divides by a count of what is there, or by the sum of a mask"""
    if s.site.value.op != "div" or s.total is None or s.total.first is None:
        return False
    summed = stripped(s.total.first)
    return counts_a_test(summed) or words.names_a_mask(summed.name)


@raises
def hidden_gradient(s: Subject) -> bool:
    """a selection hides the value, and not its gradient"""
    return s.site.judgement.backward_only and s.is_replaced and s.site.rule.family == "masking"


@raises
def root_of_squares(s: Subject) -> bool:
    """is the root of squares, whose gradient is infinite where all of them are 0"""
    if s.site.value.op not in _ROOTS or s.operand is None or not has_contract(s.site):
        return False
    inner = s.total.first if s.total is not None and s.total.first is not None else s.operand
    parts = inner.operands.values() if inner.op == "add" else (inner,)
    return all(stripped(v).op in _SQUARES for v in parts if not v.is_constant)


@raises
def difference_of_neighbours(s: Subject) -> bool:
    """divides by the difference of two elements of one tensor"""
    found = next((v for v in s.chain if v.op == "sub" and len(v.operands) == 2), None)
    if s.site.value.op != "div" or found is None:
        return False
    ends = [stripped(v) for v in found.operands.values()]
    return all(e.op in _PICKS and e.first is not None for e in ends) and _source(ends[0]) == _source(ends[1])


def _source(picked: Value) -> int | None:
    return stripped(picked.first).key if picked.first is not None else None
