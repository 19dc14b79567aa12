"""Softmax by hand over groups: exponentials divided by a sum that some function gathers per group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.pattern import Match
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.proof.judge import Judgement
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.diagnostic import Status
from stablelint.syntax.operations import having

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.catalog.rule import Rule

_DEPTH = 6
_GROUPED = having("scatter")
_GATHERS = ("scatter", "segment", "index_add", "spmm", "copy_e_sum", "edge_sum")


@observes("div exp")
def grouped_softmax(review: Review, rule: Rule) -> Iterator[Site]:
    """`e / gather(sum_by_group(e))` where `e = exp(x)` and no maximum was taken out of x."""
    for value, frame in review.collector.observed:
        if value.op != "div" or value.node is None or not hasattr(value.node, "lineno"):
            continue
        numerator = stripped(value.operands["input"])
        if numerator.op != "exp" or numerator.node is None or numerator.interval.hi <= 1.0:
            continue
        operand = numerator.operands["input"]
        total = value.operands["other"]
        shown = _gathered(total, numerator.key, _DEPTH, _sums_groups)
        if operand.op in ("sub", "clamp") or not (
            shown or _gathered(total, numerator.key, _DEPTH, _may_gather)
        ):
            continue
        match = Match({"x": operand}, [value, numerator])
        context = review.collector.context(value, match.bindings, frame)
        statement = review.collector.statements.get(id(value))
        judgement = Judgement(Status.VIOLATED if shown else Status.UNGUARDED)
        yield Site(
            rule, value, match, judgement, frame, context.ranges, context, {}, statement, anchor=numerator.node
        )  # fmt: skip


def _gathered(
    value: Value, key: int, depth: int, gathers: Callable[[Value], bool], seen: bool = False
) -> bool:
    """Whether a grouped sum of the exponentials lies on the way down to them."""
    if value.key == key or stripped(value).key == key:
        return seen
    seen = seen or gathers(value)
    return depth > 0 and any(_gathered(v, key, depth - 1, gathers, seen) for v in value.operands.values())


def _sums_groups(value: Value) -> bool:
    return value.op in _GROUPED


def _may_gather(value: Value) -> bool:
    """Whether a value is what a function yields that is called like those that sum groups up."""
    return any(part in value.op.rpartition(".")[2] for part in _GATHERS)
