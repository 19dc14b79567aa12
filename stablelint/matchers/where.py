"""Guards that come too late: a singular operation whose result is masked, though its gradient is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stablelint.analysis.judge import differentiable
from stablelint.analysis.pattern import Match
from stablelint.analysis.sites import Site, text_before
from stablelint.analysis.transfer import stripped
from stablelint.analysis.value import Kind, Value
from stablelint.diagnostic import Level, Status

if TYPE_CHECKING:
    from stablelint.analysis.review import Review
    from stablelint.catalog.rule import Rule

_DEPTH = 8
_HIDERS = frozenset({"where", "masked_fill", "nan_to_num"})
# The page's name for the operand of each operation whose gradient is hidden.
_OPERAND = {"exp": "e", "expm1": "e", "exp2": "e", "acos": "u", "asin": "u", "atanh": "u"}


def gradient_trap(review: Review, rule: Rule) -> Iterator[Site]:
    """Open obligations whose result is hidden by `where`, `masked_fill` or `nan_to_num`.

    The test shows that the author expects the bad operand, so the finding does not depend on knowing its range.
    """
    hiders = [v for v, _ in review.collector.observed if v.op in _HIDERS]
    if not hiders:
        return
    for site in review.open:
        if site.rule.code not in rule.replaces or not _has_gradient(site):
            continue
        hider = next((h for h in hiders if _hides(h, site)), None)
        if hider is not None:
            yield _trap(site, hider, rule)


def _has_gradient(site: Site) -> bool:
    operand = site.match.bindings.get(site.judgement.operand)
    return operand is not None and site.value.kind is not Kind.NUMBER and differentiable(operand, site.gradient)


def _trap(site: Site, hider: Value, rule: Rule) -> Site:
    """The site as this rule states it: the operand by the page's name, the test as `c` (or `d`, where it excludes)."""
    name = _OPERAND.get(site.value.op, "x")
    operand = site.judgement.operand
    bindings = {name: site.match.bindings[operand]}
    texts = {name: site.texts.get(operand)}
    test = hider.operands.get("condition") or hider.operands.get("mask")
    if test is not None and not hider.node is None:
        taken = hider.op == "where" and _contains(hider.operands["input"], site.value, _DEPTH)
        bindings["c" if taken else "d"] = test
        texts["c" if taken else "d"] = text_before(test, site.value, site.frame)
    judgement = replace(
        site.judgement, status=Status.VIOLATED, level=Level.LIKELY, backward_only=True, operand=name
    )
    context = replace(site.context, bindings=bindings, ranges={name: site.ranges[operand]})
    return replace(
        site,
        rule=rule,
        match=Match(bindings, [site.value], site.match.through),
        judgement=judgement,
        ranges={name: site.ranges[operand]},
        context=context,
        texts=texts,
        message=_message(hider, site),
    )


def _message(hider: Value, site: Site) -> str:
    verb = "torch.where" if hider.op == "where" else hider.op
    return f"{verb} hides the value of this {site.value.op}, but its gradient is still computed: 0 * inf is NaN"


def _hides(hider: Value, site: Site) -> bool:
    branches = [v for n, v in hider.operands.items() if n not in ("condition", "mask")]
    if not any(_contains(branch, site.value, _DEPTH) for branch in branches):
        return False
    if hider.op == "nan_to_num":
        return True
    test = hider.operands.get("condition") or hider.operands.get("mask")
    operand = site.match.bindings.get(site.judgement.operand)
    if test is None or operand is None:
        return False
    return _mentions(test, stripped(operand), _DEPTH)


def _contains(value: Value, wanted: Value, depth: int) -> bool:
    if value.key == wanted.key:
        return True
    return depth > 0 and any(_contains(v, wanted, depth - 1) for v in value.operands.values())


def _mentions(test: Value, operand: Value, depth: int) -> bool:
    """Whether the test speaks of the operand (or of what the operand is made from)."""
    sources = {operand.key} | {stripped(v).key for v in operand.operands.values() if not v.is_constant}
    return _reaches(test, sources, depth)


def _reaches(value: Value, keys: set[int], depth: int) -> bool:
    if value.key in keys or stripped(value).key in keys:
        return True
    return depth > 0 and any(_reaches(v, keys, depth - 1) for v in value.operands.values())
