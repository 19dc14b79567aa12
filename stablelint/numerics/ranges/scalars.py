"""Scalar functions of the tables, each total on its closed domain with its limits at infinite operands."""

from __future__ import annotations

import math

_SQRT_HALF = math.sqrt(0.5)


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    rising = math.exp(x)
    return rising / (1.0 + rising)


def softplus(x: float) -> float:
    """log(1 + exp(x)), without overflow."""
    return math.log1p(math.exp(x)) if x <= 0 else x + math.log1p(math.exp(-x))


def logsigmoid(x: float) -> float:
    """log(sigmoid(x))."""
    return -softplus(-x)


def softsign(x: float) -> float:
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x)) if math.isfinite(x) else math.copysign(1.0, x)


def ndtr(x: float) -> float:
    """The normal distribution function."""
    return 0.5 * math.erfc(-x * _SQRT_HALF)


def log_ndtr(x: float) -> float:
    """log(ndtr(x)); below -30 the leading terms of the asymptotic series (Abramowitz and Stegun 26.2.12)."""
    if x > -30:
        return math.log1p(-0.5 * math.erfc(x * _SQRT_HALF)) if x > 0 else math.log(ndtr(x))
    return -0.5 * x * x - math.log(-x) - 0.5 * math.log(2 * math.pi)


def erfinv(y: float) -> float:
    """The inverse of erf on [-1, 1]; near 0 the first term of its series."""
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if abs(y) < 1e-7:
        return y * math.sqrt(math.pi) / 2
    return math.copysign(ndtri((1 - abs(y)) / 2) * _SQRT_HALF, y)


def ndtri(p: float) -> float:
    """The inverse of the normal distribution function on [0, 1]."""
    if p in (0, 1):
        return math.inf if p else -math.inf
    # Imported here for it costs more than all of this layer, and few programs call erfinv.
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def gelu(x: float) -> float:
    """x * ndtr(x), with its limits."""
    return x * ndtr(x) if math.isfinite(x) else max(x, 0.0)


def gelu_tanh(x: float) -> float:
    """The tanh form of gelu, with its limits."""
    if abs(x) > 1e6:
        return max(x, 0.0)
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: float) -> float:
    """x * sigmoid(x), with its limits."""
    return x * sigmoid(x) if math.isfinite(x) else max(x, 0.0)


def mish(x: float) -> float:
    """x * tanh(softplus(x)), with its limits."""
    return x * math.tanh(softplus(x)) if math.isfinite(x) else max(x, 0.0)


def hardswish(x: float) -> float:
    """x * min(max(x + 3, 0), 6) / 6, with its limits."""
    return x * (min(max(x + 3, 0.0), 6.0) / 6.0) if math.isfinite(x) else max(x, 0.0)
