"""Differences of moments: variances that are filtered, weighted or of matrices, and squared distances multiplied out."""

from __future__ import annotations

from collections.abc import Iterator

from stablelint.analysis.evidence.forms.cancelling import is_squared_distance, summands
from stablelint.analysis.values.relations.squares import dividend_of, root_of, unscaled
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import Review, Rule, Sites, Value, make_site, observed, observes
from stablelint.syntax.operations import VIEWS, having

_PARTS = frozenset({"index", "part"})
_SUMS = having("total")
_NORMS = having("norm")
_RANKING = having("rank")
_DISTANCE = (
    "a squared distance is multiplied out: near points keep none of its digits, and it can be negative"
)


@observes("sub pow|square", "sub norm", "sub matmul mean")
def difference_of_moments(review: Review, rule: Rule) -> Sites:
    """`f(x * x) - f(x) ** 2` for any f that averages; that of the mean itself has a rule of its own."""
    for pair in observed(review, "sub"):
        operands = pair[0].operands
        if operands.keys() != {"input", "other"}:
            continue
        mean = unscaled(operands["other"])
        root = root_of(mean)
        moment = unscaled(operands["input"])
        plain = root is not None and root.op != "mean" and _is_second_moment(moment, root)
        if plain or _is_moment_matrix(dividend_of(operands["input"]), mean):
            yield make_site(review, rule, pair, {"m": operands["input"]}, shown=False)
    yield from _multiplied_out(review, rule)


def _multiplied_out(review: Review, rule: Rule) -> Sites:
    """`|x|² + |y|² - 2 x·y`, unless its order is all that is asked for."""
    for pair in observed(review, "sub", "add"):
        value = pair[0]
        if not is_squared_distance(value) or sum(_is_squared_length(t) for _, t in summands(value)) != 2:
            continue
        takers = set(_takers(review, value))
        if not takers or not takers <= _RANKING:
            yield make_site(review, rule, pair, {"m": value}, shown=False, message=_DISTANCE)


def _takers(review: Review, value: Value) -> Iterator[str]:
    """The operations that take a value, or what is its negative."""
    for taker, _ in review.observed:
        if taker.op not in VIEWS and any(stripped(v).key == value.key for v in taker.operands.values()):
            if taker.op == "neg":
                yield from _takers(review, taker)
            else:
                yield taker.op


def _is_squared_length(term: Value) -> bool:
    """`(x * x).sum(1)` or the square of a norm."""
    root = root_of(term)
    if root is not None:
        return root.op in _NORMS
    return term.op in _SUMS and term.first is not None and root_of(stripped(term.first)) is not None


def _is_moment_matrix(moment: Value, mean: Value) -> bool:
    """`x.mT @ x / n` beside `m.mT @ m`, m the mean of x: a covariance."""
    squared, averaged = _squared_matrix(moment), _squared_matrix(mean)
    if squared is None or averaged is None or averaged.op != "mean" or averaged.first is None:
        return False
    return stripped(averaged.first).key == squared.key


def _squared_matrix(product: Value) -> Value | None:
    """The matrix whose product with its own transpose a value is."""
    factors = [stripped(v) for v in product.operands.values()] if product.op == "matmul" else []
    return factors[0] if len(factors) == 2 and factors[0].key == factors[1].key else None


def _is_second_moment(moment: Value, root: Value) -> bool:
    """Whether a value averages squares as another averages what is squared."""
    if moment.op != root.op or moment.key == root.key or moment.first is None or root.first is None:
        return False
    if moment.op in _PARTS:
        return moment.first.key == root.first.key
    squared = root_of(unscaled(moment.first))
    return squared is not None and squared.key == stripped(root.first).key
