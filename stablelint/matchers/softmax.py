"""Softmax by hand over groups: exponentials divided by their sum per group."""

from __future__ import annotations

from stablelint.analysis.values.views import behind, stripped
from stablelint.matchers.common import Review, Rule, Sites, Value, make_site, observed, observes
from stablelint.syntax.operations import having

_GROUPED = having("scatter")


@observes("div exp")
def grouped_softmax(review: Review, rule: Rule) -> Sites:
    """`e / gather(sum_by_group(e))` where `e = exp(x)` and no maximum was taken out of x."""
    for pair in observed(review, "div"):
        numerator, total = stripped(pair[0].operands["input"]), pair[0].operands["other"]
        if numerator.op != "exp" or numerator.node is None or numerator.interval.hi <= 1.0:
            continue
        operand = numerator.operands["input"]
        if _gathered(total, numerator.key) and operand.op not in ("sub", "clamp"):
            site = make_site(review, rule, pair, {"x": operand}, anchor=numerator.node)
            site.match.covered.append(numerator)
            yield site


def _gathered(total: Value, key: int) -> bool:
    """Whether a grouped sum of the exponentials lies on the way down to them."""
    ways = (behind(v) for v in behind(total) if v.op in _GROUPED)
    return any(key in (v.key, stripped(v).key) for way in ways for v in way)
