"""Shares of a whole: what exponentials become when each is divided by their sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.operations import having

_SUMS = having("total", "product", "scatter", "mean-pool") | {"cumsum"}
_LIFTS = frozenset("add clamp mul div phi".split())
# A part of them (an index) is another quantity, and no share.
_PRODUCTS = frozenset("mul phi where masked_fill".split())
_SCALES = having("scale")
_FACTORS = 8


def shares(observed: Iterable[Value]) -> frozenset[int]:
    """Keys of the exponentials that are divided by a sum of themselves, and by nothing brought below 1 before.

    That is a softmax without its maximum: it overflows where `softmax`, of the same numbers, does not.
    """
    return frozenset(one.key for value in observed for one in _shared(value))


def divides_share(value: Value) -> bool:
    """Whether a quotient is such a share."""
    return any(True for _ in _shared(value))


def _shared(value: Value) -> Iterator[Value]:
    """The exponentials that an operation divides by a sum of themselves, or multiplies with its inverse."""
    for dividend, divisor in _quotients(value):
        parts = {e.key for e in behind(dividend, _ends_product) if e.op == "exp"}
        summed = _summed(divisor) if parts else ()
        yield from (e for e in summed if e.key in parts and not _is_shifted(e))


def _quotients(value: Value) -> Iterator[tuple[Value, Value]]:
    if value.op == "div":
        yield value.operands["input"], value.operands["other"]
    if value.op == "mul":
        one, other = value.operands["input"], value.operands["other"]
        for dividend, inverse in ((one, stripped(other)), (other, stripped(one))):
            if inverse.op in ("div", "reciprocal"):
                yield dividend, inverse.operands["other" if inverse.op == "div" else "input"]


def _summed(divisor: Value) -> Iterator[Value]:
    """The exponentials whose sum a divisor is."""
    for part in behind(divisor, lambda v: v.op not in _LIFTS and v is stripped(v)):
        if part.op in _SUMS:
            yield from (e for e in behind(part, _ends_product) if e.op == "exp")


def _ends_product(value: Value) -> bool:
    return value.op not in _PRODUCTS and value.op not in _SUMS and value is stripped(value)


def _is_shifted(exponential: Value) -> bool:
    """Whether something is subtracted before the exponential, and before what scales it: their maximum, as a rule."""
    return exponential.first is None or _is_difference(exponential.first, _FACTORS)


def _is_difference(taken: Value, depth: int) -> bool:
    taken = stripped(taken)
    if taken.op not in _SCALES or not depth:
        return taken.op == "sub"
    scaled = taken.operands.values() if taken.op == "mul" else [taken.operands["input"]]
    return any(_is_difference(factor, depth - 1) for factor in scaled)
