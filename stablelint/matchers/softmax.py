"""Softmax by hand over groups: exponentials divided by a sum that some function gathers per group."""

from __future__ import annotations

from collections.abc import Callable

from stablelint.analysis.values.views import behind, stripped
from stablelint.matchers.common import Review, Rule, Sites, Value, make_site, observed, observes
from stablelint.syntax.operations import having

_GROUPED = having("scatter")
_GATHERS = ("scatter", "segment", "index_add", "spmm", "copy_e_sum", "edge_sum")


@observes("div exp")
def grouped_softmax(review: Review, rule: Rule) -> Sites:
    """`e / gather(sum_by_group(e))` where `e = exp(x)` and no maximum was taken out of x."""
    for pair in observed(review, "div"):
        numerator, total = stripped(pair[0].operands["input"]), pair[0].operands["other"]
        if numerator.op != "exp" or numerator.node is None or numerator.interval.hi <= 1.0:
            continue
        operand = numerator.operands["input"]
        shown = _gathered(total, numerator.key, lambda value: value.op in _GROUPED)
        gathered = shown or _gathered(total, numerator.key, _may_gather)
        if gathered and operand.op not in ("sub", "clamp"):
            site = make_site(review, rule, pair, {"x": operand}, shown=shown, anchor=numerator.node)
            site.match.covered.append(numerator)
            yield site


def _gathered(total: Value, key: int, gathers: Callable[[Value], bool]) -> bool:
    """Whether a grouped sum of the exponentials lies on the way down to them."""
    ways = (behind(v) for v in behind(total) if gathers(v))
    return any(key in (v.key, stripped(v).key) for way in ways for v in way)


def _may_gather(value: Value) -> bool:
    """Whether a value is what a function yields that is called like those that sum groups up."""
    return any(part in value.op.rpartition(".")[2] for part in _GATHERS)
