"""Guards that guard nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import make_site, observed

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_LARGEST = 1e-3  # a larger constant is part of the formula


@observes("sign", "div|rsqrt add")
def misplaced_eps(review: Review, rule: Rule) -> Iterator[Site]:
    """Open obligations beside a small constant that is added to the quotient, or multiplied by `sign(x)`."""
    sums = observed(review, "add")
    pushed: set[int] = set()
    for site in review.open:
        if site.rule.code not in rule.replaces:
            continue
        if site.value.op in ("div", "rsqrt") and not _is_guarded(site.value):
            outer = next((pair for pair in sums if _adds_constant(pair[0], site.value)), None)
            if outer is not None and not _guards_what_follows(outer[0], review):
                message = (
                    "the constant is added to the quotient, not to the denominator, which can still be 0"
                )
                found = make_site(review, rule, outer, message=message)
                found.match.covered.append(site.value)
                yield _stated(found, site)
        if site.value.op == "div" and _pushed_by_sign(site.value.operands["other"]):
            message = "sign(0) is 0: x + sign(x) * eps is 0 where x is"
            pushed |= {v.key for v in site.value.operands["other"].operands.values()}
            yield _stated(make_site(review, rule, (site.value, site.frame), message=message), site)
    for pair in observed(review, "mul"):
        if _vanishing_jitter(pair[0]) and pair[0].key not in pushed:
            yield make_site(
                review, rule, pair, message="sign(0) is 0: this pushes everything away from 0 but 0"
            )


def _stated(found: Site, site: Site) -> Site:
    """The finding with what was judged of the operation."""
    return replace(found, judgement=replace(site.judgement, operand="", failing=""))


def _vanishing_jitter(value: Value) -> bool:
    """`eps * sign(x)`, meant to push x away from 0."""
    parts = list(value.operands.values())
    return any(_is_small(p) for p in parts) and any(p.op == "sign" for p in parts)


def _is_guarded(quotient: Value) -> bool:
    """Whether something was added to the denominator, too, or it was bounded."""
    operand = quotient.operands.get("other") or quotient.first
    return operand is not None and stripped(operand).op in ("add", "clamp", "maximum")


def _guards_what_follows(total: Value, review: Review) -> bool:
    """Whether the sum goes into an operation that the constant protects: `log(a / b + eps)`."""
    for value, _ in observed(review, "log", "log2", "log10", "sqrt", "rsqrt", "pow", "div"):
        operand = value.operands.get("other") if value.op == "div" else value.first
        if operand is not None and operand.key == total.key:
            return True
    return False


def _adds_constant(total: Value, quotient: Value) -> bool:
    parts = list(total.operands.values())
    if len(parts) != 2 or not any(p.key == quotient.key and p.node is quotient.node for p in parts):
        return False
    return any(_is_small(p) for p in parts)


def _is_small(value: Value) -> bool:
    number = value.constant()
    return isinstance(number, float) and 0 < number <= _LARGEST


def _pushed_by_sign(denominator: Value) -> bool:
    """`x + sign(x) * eps`."""
    if denominator.op != "add" or len(denominator.operands) != 2:
        return False
    a, b = denominator.operands.values()
    return any(_is_push(push, base) for push, base in ((a, b), (b, a)))


def _is_push(push: Value, base: Value) -> bool:
    if push.op != "mul":
        return False
    signs = [v for v in push.operands.values() if v.op == "sign"]
    small = any(_is_small(v) for v in push.operands.values())
    return small and any(v.first is not None and stripped(v.first).key == stripped(base).key for v in signs)
