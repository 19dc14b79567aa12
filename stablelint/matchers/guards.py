"""Guards that guard nothing."""

from __future__ import annotations

from dataclasses import replace

from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import Review, Rule, Sites, Value, make_site, observed, observes

_BESIDE = "the constant is added to the quotient, not to the denominator, which can still be 0"
_SIGN = "sign(0) is 0: x + sign(x) * eps is 0 where x is"
_JITTER = "sign(0) is 0: this pushes everything away from 0 but 0"
_PROTECTED = frozenset({"log", "log2", "log10", "sqrt", "rsqrt", "pow", "div"})
_LARGEST = 1e-3  # a larger constant is part of the formula


@observes("sign", "div|rsqrt add")
def misplaced_eps(review: Review, rule: Rule) -> Sites:
    """Open obligations beside a small constant that is added to the quotient, or multiplied by `sign(x)`."""
    pushed: set[int] = set()
    for site in review.open:
        if site.rule.code not in rule.replaces:
            continue
        operand = site.value.operands.get("other") or site.value.first
        guarded = operand is not None and stripped(operand).op in ("add", "clamp", "maximum")
        if site.value.op in ("div", "rsqrt") and not guarded:
            takers = {id(v) for v in review.takers.get(site.value.key, ()) if v.op == "add"}
            sums = (pair for pair in observed(review, "add") if id(pair[0]) in takers) if takers else ()
            outer = next((pair for pair in sums if _adds_constant(pair[0], site.value)), None)
            if outer is not None and not _guards_what_follows(outer[0], review):
                found = make_site(review, rule, outer, message=_BESIDE)
                found.match.covered.append(site.value)
                yield _stated(found, site)
        if site.value.op == "div" and _is_pushed_by_sign(site.value.operands["other"]):
            pushed |= {v.key for v in site.value.operands["other"].operands.values()}
            yield _stated(make_site(review, rule, (site.value, site.frame), message=_SIGN), site)
    for pair in observed(review, "mul"):
        if _pushed(pair[0]) and pair[0].key not in pushed:
            yield make_site(review, rule, pair, message=_JITTER)


def _stated(found: Site, site: Site) -> Site:
    """The finding with what was judged of the operation."""
    return replace(found, judgement=replace(site.judgement, operand="", failing=""))


def _guards_what_follows(total: Value, review: Review) -> bool:
    """Whether the sum goes into an operation that the constant protects: `log(a / b + eps)`."""
    for value, _ in review.observed:
        if value.op.rpartition(".")[2] in _PROTECTED:  # of any library: `tl.sqrt(a / b + eps)`
            operands = [value.operands.get("other")] if value.op == "div" else value.operands.values()
            if any(operand is not None and operand.key == total.key for operand in operands):
                return True
    return False


def _adds_constant(total: Value, quotient: Value) -> bool:
    parts = list(total.operands.values())
    added = any(p.key == quotient.key and p.node is quotient.node for p in parts)
    small = [part for part in parts if _is_small(part)]
    return len(parts) == 2 and added and bool(small) and not _takes_off(quotient.first, small[0])


def _takes_off(value: Value | None, constant: Value) -> bool:
    """Whether the same constant is subtracted within: `(high - low) * t / steps + low` goes from it to another."""
    if value is None:
        return False
    if value.op == "sub" and (other := value.operands.get("other")) is not None:
        return bool(other.default() == constant.default())
    return value.op == "mul" and any(_takes_off(part, constant) for part in value.operands.values())


def _is_small(value: Value) -> bool:
    number = value.default()
    return isinstance(number, float) and 0 < number <= _LARGEST


def _is_pushed_by_sign(denominator: Value) -> bool:
    """`x + sign(x) * eps`."""
    parts = list(denominator.operands.values()) if denominator.op == "add" else []
    bases = {stripped(part).key for part in parts}
    return any(stripped(x).key in bases for part in parts for x in _pushed(part))


def _pushed(value: Value) -> list[Value]:
    """What `eps * sign(x)` is meant to push away from 0."""
    parts = list(value.operands.values()) if value.op == "mul" else []
    signs = [part.first for part in parts if part.op == "sign" and part.first is not None]
    return signs if any(map(_is_small, parts)) else []
