"""Sums of exponentials by hand, from which a maximum was taken out that is infinite, or not that of what is summed."""

from __future__ import annotations

from collections.abc import Iterator

from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.diagnostic import Status
from stablelint.matchers.common import Observed, Review, Rule, Sites, make_site, observed, observes
from stablelint.syntax.operations import having

_DEPTH = 8  # operations looked through
_WIDTH = 40  # values looked at in each step
_GIVEN = having("given") | {"part", "index"}
_CONTRACTIONS = having("product")
_SUMS = having("product", "total", "scatter") | {"cumsum"}
_MASKED = frozenset("masked_fill where overwritten".split())


@observes("exp sub max|amax log")
def unguarded_shift(review: Review, rule: Rule) -> Sites:
    """`(x - m).exp()` under a logarithm, m the maximum of x: NaN where x is -inf throughout.

    Shown where several of them are contracted: the largest of each need not meet, so that the logarithm is -inf for
    finite operands already, and what it yields is an operand of the next contraction. A sum holds its largest.
    """
    late = {exponential.key for _, exponential in _late_masks(review)}
    logarithms = [value for value, _ in observed(review, "log")]
    for pair in _shifted(review):
        exponential = pair[0]
        operand = stripped(exponential.operands["input"]).operands["input"]
        if exponential.key in late or stripped(operand).op not in _GIVEN | {"phi"} or operand.guard:
            continue
        sums = {found for log in logarithms if (found := _sum_of(log.operands["input"], exponential))}
        if sums:
            yield make_site(review, rule, pair, {"x": operand}, shown=not sums.isdisjoint(_CONTRACTIONS))


@observes("exp sub max|amax * sum")
def late_mask(review: Review, rule: Rule) -> Sites:
    """`(x - m).exp() * mask`, summed: m is the maximum of what the mask leaves out, too."""
    sums = [value for value, _ in observed(review, "sum")]
    shown = [site.operand for site in review.open if site.judgement.status is Status.VIOLATED]
    for pair, exponential in _late_masks(review):
        product = pair[0]
        if not any(_is_made_of(total, product.key) for total in sums):
            continue
        if not any(value is not None and _is_made_of(value, product.key) for value in shown):
            yield make_site(review, rule, pair, {"e": exponential})


def _shifted(review: Review) -> Iterator[Observed]:
    """Exponentials of a value less its own maximum."""
    for pair in observed(review, "exp"):
        difference = stripped(pair[0].operands["input"])
        other = difference.operands.get("other")
        if difference.op == "sub" and other is not None:
            if _is_bare_maximum(other, difference.operands["input"], _DEPTH):
                yield pair


def _late_masks(review: Review) -> Iterator[tuple[Observed, Value]]:
    """Products of such exponentials with a mask that their exponents know nothing of."""
    known = {pair[0].key: pair[0] for pair in _shifted(review)}
    for pair in observed(review, "mul"):
        factors = list(pair[0].operands.values())
        for exponential, mask in (factors, factors[::-1]) if len(factors) == 2 else ():
            held = known.get(stripped(exponential).key)
            if held is None or not _is_mask(mask):
                continue
            source = stripped(held.operands["input"]).operands["input"]
            if not any(v.op in _MASKED or v.key == stripped(mask).key for v in behind(source)):
                yield pair, held


def _is_bare_maximum(value: Value, whole: Value, depth: int) -> bool:
    """Whether a value is the maximum of another, over one dimension after the other, and was not made finite."""
    value = stripped(value)
    if depth == 0 or not value.operands:
        return False
    if value.op == "phi":
        return any(_is_bare_maximum(path, whole, depth - 1) for path in value.operands.values())
    if value.op != "amax" or value.first is None:
        return False
    return _is_same(value.first, whole, 3) or _is_bare_maximum(value.first, whole, depth - 1)


def _is_same(value: Value, other: Value, depth: int) -> bool:
    """Whether a value is another, or is on one of its paths."""
    if stripped(value).key == stripped(other).key:
        return True
    value = stripped(value)
    return (
        value.op == "phi"
        and depth > 0
        and any(_is_same(v, other, depth - 1) for v in value.operands.values())
    )


def _sum_of(value: Value, exponential: Value) -> str:
    """The operation by which a value sums the exponentials up; of a contraction of a list nothing more is known."""
    level, summed = [value], ""
    for _ in range(_DEPTH):
        summed = next((op for v in level if (op := stripped(v).op) in _SUMS), summed)
        starred = (one for v in level if (one := stripped(v)).op == "einsum")
        if any(not any(v.kind is Kind.TENSOR for v in _parts(one)) for one in starred):
            return "einsum"
        level = [part for v in level for part in _parts(v)][:_WIDTH]
        if summed and any(stripped(v).key == exponential.key for v in level):
            return summed
    return ""


def _is_made_of(value: Value, key: int) -> bool:
    return any(part.key == key for part in behind(value))


def _is_mask(value: Value) -> bool:
    value = stripped(value)
    return value.dtype == "bool" or (
        value.interval.lo == 0 and value.interval.hi == 1 and value.zero is Attained.EXACT
    )


def _parts(value: Value) -> list[Value]:
    elements = value.data if value.kind is Kind.SEQUENCE and isinstance(value.data, list) else []
    return [*value.operands.values(), *elements]
