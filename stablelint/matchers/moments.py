"""Variances as a difference of moments, where these are no plain means: filtered, weighted, or parts of one result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.squares import root_of, unscaled
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import make_site, observed

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_PARTS = frozenset({"index", "part"})


@observes("sub pow|square|mul")
def difference_of_moments(review: Review, rule: Rule) -> Iterator[Site]:
    """`f(x * x) - f(x) ** 2` for any f that averages; that of the mean itself has a rule of its own."""
    for pair in observed(review, "sub"):
        operands = pair[0].operands
        if operands.keys() != {"input", "other"}:
            continue
        root = root_of(unscaled(operands["other"]))
        moment = unscaled(operands["input"])
        if root is not None and root.op != "mean" and _is_second_moment(moment, root):
            yield make_site(review, rule, pair, {"m": operands["input"]}, shown=False)


def _is_second_moment(moment: Value, root: Value) -> bool:
    """Whether a value averages squares as another averages what is squared."""
    if moment.op != root.op or moment.key == root.key or moment.first is None or root.first is None:
        return False
    if moment.op in _PARTS:
        return moment.first.key == root.first.key
    squared = root_of(unscaled(moment.first))
    return squared is not None and squared.key == stripped(root.first).key
