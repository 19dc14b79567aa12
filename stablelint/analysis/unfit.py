"""Why the bound that a rule's page has would change a healthy result: a share of a whole, an infinity that is meant."""

from __future__ import annotations

from stablelint.analysis.evidence.forms.shares import divides_share, shares
from stablelint.analysis.evidence.subject import Surroundings
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.proof.uses import Users, is_harmless_below
from stablelint.analysis.values.families import LOGARITHMS

_OF_SHARES = "a bound makes the largest of these shares alike: take the largest exponent out, or use softmax"
_OF_SUM = "the sum is 0 only where all exponents are small: take the largest out of them, or use softmax"
_MEANT = "what becomes of it takes -inf for what it is, and a bound would be a number like others"


def unfit(site: Site, around: Surroundings, users: Users) -> str | None:
    """Why no bound is offered for the operand of a site with a contract; None where one fits."""
    if not site.rule.has_contract:
        return None
    value = site.value
    if value.op == "exp" and value.key in around.keys(shares):
        return _OF_SHARES
    if value.op == "div" and divides_share(value):
        return _OF_SUM
    if value.op in LOGARITHMS and is_harmless_below(value, site.frame, users):
        return _MEANT
    return None
