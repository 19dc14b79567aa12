"""Differences that cancel: what they are made of tells where they are 0 or below it, whatever their range."""

from __future__ import annotations

import math
from collections.abc import Iterator

from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.formats import FLOAT32
from stablelint.syntax.operations import having

_PRODUCTS = having("product")
_FUSED = having("fused")  # a product added to what stands first
_LIFTS = having("raise")
_LEAVES = having("given") | {"const"}
TINY = 1e-2  # what is added to keep a number off 0, and not for its own sake
_DEPTH = 6  # sums looked into


def is_squared_distance(value: Value) -> bool:
    """`a + b - 2 * x @ y`: a squared distance multiplied out, which rounding carries below 0 for near points."""
    terms = list(summands(value))
    products = [factor for factor, term in terms if term.op in _PRODUCTS | _FUSED]
    squares = [factor for factor, term in terms if term.op not in _PRODUCTS | _FUSED]
    return products == [-2.0] and squares == [1.0, 1.0]


def is_own_logarithm(value: Value) -> bool:
    """`p * log(p)` or `p * log(p / q)`: a share of a whole, which may be none of it: 0 times an infinity."""
    product = stripped(value)
    if product.op != "mul" or len(product.operands) != 2:
        return False
    a, b = (_unsigned(v) for v in product.operands.values())
    return _is_logarithm_of(a, b) or _is_logarithm_of(b, a)


def _is_logarithm_of(logarithm: Value, share: Value) -> bool:
    if logarithm.op not in LOGARITHMS or logarithm.first is None:
        return False
    if share.kind is Kind.NUMBER or _is_above_zero(share) or _is_lifted(share):
        return False
    inside = stripped(logarithm.first)
    whole = stripped(inside.operands["input"]) if inside.op == "div" else inside
    return share.key in (inside.key, whole.key)


def _is_above_zero(value: Value) -> bool:
    """Whether nothing of a value is 0 or less: where a test has picked its elements, `p[p > 0]`, say."""
    return value.interval.lo > 0 or (value.interval.lo == 0 and value.interval.lo_open)


def _unsigned(value: Value) -> Value:
    value = stripped(value)
    return stripped(value.first) if value.op == "neg" and value.first is not None else value


def is_half_lifted(value: Value) -> bool:
    """`a * (b + eps)`: the constant keeps one factor of a product off 0, and the other factor makes it 0 alone."""
    product = stripped(value)
    if product.op != "mul" or len(product.operands) != 2:
        return False
    a, b = map(stripped, product.operands.values())
    if _is_lifted(a):
        a, b = b, a
    if b.op in _LIFTS or not _is_lifted(b) or _is_lifted(a) or _is_sign_moved(a):
        return False
    return a.kind in (Kind.TENSOR, Kind.UNKNOWN) and a.op not in _LEAVES and a.interval.contains(0.0)


def _is_sign_moved(value: Value) -> bool:
    """`sign(sign(x) + 0.5)`: a sign that 0 has, too."""
    taken = stripped(value.first) if value.op == "sign" and value.first is not None else None
    moved = taken is not None and taken.op in ("add", "sub")
    return moved and taken is not None and any(v.is_constant for v in taken.operands.values())


def _is_lifted(value: Value) -> bool:
    """Whether something keeps a value off 0: a bound, or a tiny constant that is added."""
    inner = stripped(value)
    if inner.op in _LIFTS:
        return True
    if inner.op != "add":
        return False
    return any(map(_is_tiny, inner.operands.values())) or (inner.guard == "eps" and inner.interval.lo < TINY)


def _is_tiny(value: Value) -> bool:
    """Whether a value is a tiny number that is written down, or one of a format: `torch.finfo(x.dtype).eps`."""
    if value.op == "finfo_field":
        return value.guard == "eps"
    return value.is_constant and value.interval.lo >= 0 and 0 < value.interval.hi < TINY


def summands(value: Value, factor: float = 1.0, depth: int = _DEPTH) -> Iterator[tuple[float, Value]]:
    """The terms of a sum with their constant factors."""
    value = stripped(value)
    first, other = value.first, value.operands.get("other")
    if depth and value.op == "neg" and first is not None:
        yield from summands(first, -factor, depth - 1)
    elif depth and value.op in ("add", "sub") and first is not None and other is not None:
        yield from summands(first, factor, depth - 1)
        yield from summands(other, factor if value.op == "add" else -factor, depth - 1)
    elif depth and value.op == "mul" and (scaled := _scaled(value)) is not None:
        yield from summands(scaled[1], factor * scaled[0], depth - 1)
    elif depth and value.op in _FUSED and first is not None:
        beta, alpha = _fused_factors(value)
        yield from summands(first, factor * beta, depth - 1)
        yield factor * alpha, value
    elif value.op in _PRODUCTS:
        inner = filter(None, (_scaled(stripped(v)) for v in value.operands.values()))  # (2 * x) @ y
        yield math.prod((number for number, _ in inner), start=factor), value
    else:
        yield factor, value


def _fused_factors(value: Value) -> tuple[float, float]:
    """What multiplies the first operand and the product; in old code both stand before the matrices."""
    after = [value.operands.get(name) for name in ("beta", "alpha")]
    before = list(value.operands.values())[1:3]
    old = len(before) == 2 and all(v.kind is Kind.NUMBER for v in before)
    beta, alpha = (1.0 if v is None else v.default() for v in (before if old else after))
    known = isinstance(beta, int | float) and isinstance(alpha, int | float)
    return (float(beta), float(alpha)) if known else (math.nan, math.nan)


def _scaled(value: Value) -> tuple[float, Value] | None:
    """The constant factor of a product, and the rest of it."""
    first, other = value.first, value.operands.get("other")
    if value.op != "mul" or first is None or other is None:
        return None
    for constant, rest in ((first, other), (other, first)):
        number = constant.default()
        if isinstance(number, int | float) and not isinstance(number, bool):
            return float(number), rest
    return None


def is_scaled_down(cosine: Value) -> bool:
    """Whether a cosine was brought inside by a factor just below 1, which rounding does not outgrow."""
    scale = next((v.default() for v in cosine.operands.values() if v.is_constant), None)
    if not isinstance(scale, int | float) or cosine.op not in ("mul", "div"):
        return False
    if cosine.op == "div":
        return cosine.operands["other"].is_constant and 1 + FLOAT32.eps < scale < 2
    return 0.5 < scale < 1 - FLOAT32.eps
