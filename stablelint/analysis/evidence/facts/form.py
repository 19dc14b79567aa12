"""Facts about the form: which operation it is, and whether the way in which it is written shows the flaw."""

from __future__ import annotations

from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.forms.table import form_of
from stablelint.analysis.evidence.subject import Subject
from stablelint.analysis.matching.shadows import has_contract
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.diagnostic import Status

_EXPONENTIALS = frozenset("exp exp2 expm1 sinh cosh".split())
_ROOTS = frozenset("sqrt rsqrt pow".split())


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


@raises
def quotient(s: Subject) -> bool:
    """is a division"""
    return s.site.value.op in ("div", "reciprocal", "floor_divide", "remainder")


@raises
def logarithm(s: Subject) -> bool:
    """is a logarithm"""
    return s.site.value.op in LOGARITHMS or s.site.value.op == "log1p"


@raises
def root(s: Subject) -> bool:
    """is a root or power"""
    return has_contract(s.site) and s.site.value.op in _ROOTS


@raises
def exponential(s: Subject) -> bool:
    """is an exponential"""
    return s.site.value.op in _EXPONENTIALS


@raises
def of_masked(s: Subject) -> bool:
    """is taken over what a mask leaves"""
    return s.site.rule.family == "masking" and s.site.rule.expect == "non-finite"


@raises
def of_precision(s: Subject) -> bool:
    """depends on the precision in which it runs"""
    return s.site.rule.family in ("precision", "amp")


@raises
def of_training(s: Subject) -> bool:
    """is an order of a training loop"""
    return s.site.rule.family == "training"


@raises
def of_loss(s: Subject) -> bool:
    """feeds a loss what it does not take"""
    return s.site.rule.family == "loss"


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
