"""Guards that come too late: a singular operation whose result is masked, though its gradient is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stablelint.analysis.transfer import stripped
from stablelint.analysis.value import Value
from stablelint.diagnostic import Level, Status

if TYPE_CHECKING:
    from stablelint.analysis.review import Review
    from stablelint.analysis.sites import Site
    from stablelint.catalog.rule import Rule

_DEPTH = 8
_HIDERS = frozenset({"where", "masked_fill", "nan_to_num"})


def gradient_trap(review: Review, rule: Rule) -> Iterator[Site]:
    """Open obligations whose result is hidden by `where`, `masked_fill` or `nan_to_num`.

    The test shows that the author expects the bad operand, so the finding does not depend on knowing its range.
    """
    hiders = [v for v, _ in review.collector.observed if v.op in _HIDERS]
    if not hiders:
        return
    for site in review.open:
        if site.rule.code not in rule.replaces or not site.gradient:
            continue
        hider = next((h for h in hiders if _hides(h, site)), None)
        if hider is not None:
            judgement = replace(site.judgement, status=Status.VIOLATED, level=Level.LIKELY, backward_only=True)
            context = site.context
            bindings = dict(site.match.bindings)
            condition = hider.operands.get("condition") or hider.operands.get("mask")
            yield type(site)(
                rule, site.value, type(site.match)(bindings, [site.value]), judgement, site.frame, site.ranges, context,
                dict(site.texts), site.statement, site.gradient, _message(hider, site, condition),
            )  # fmt: skip


def _message(hider: Value, site: Site, condition: Value | None) -> str:
    verb = {"where": "torch.where", "masked_fill": "masked_fill", "nan_to_num": "nan_to_num"}[hider.op]
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
