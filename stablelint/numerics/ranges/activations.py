"""Ranges of activations with parameters, and of the softmax family."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics import arithmetic
from stablelint.numerics.functions import BELOW, Monotone, total
from stablelint.numerics.interval import AT_LEAST_ONE, TOP, UNIT, ZERO, Interval
from stablelint.numerics.ranges import scalars
from stablelint.numerics.ranges.call import Call, Transfer

_SELU_SCALE = 1.0507009873554805
_SELU_ALPHA = 1.6732632423543772


def _relu(call: Call) -> Interval:
    return arithmetic.maximum(call.x, ZERO)


def _between(call: Call, low: float, high: float) -> Interval:
    return arithmetic.minimum(arithmetic.maximum(call.x, Interval.point(low)), Interval.point(high))


def _hardtanh(call: Call) -> Interval:
    low, high = call.named("min_val"), call.named("max_val")
    raised = arithmetic.maximum(call.x, Interval.point(-1.0) if low is None else low)
    return arithmetic.minimum(raised, Interval.point(1.0) if high is None else high)


def _hardsigmoid(call: Call) -> Interval:
    sixth = Monotone(lambda x: min(max(x / 6 + 0.5, 0.0), 1.0), strict=False, attains=BELOW)
    return sixth.image(call.x, call.fmt)


def _leaky_relu(call: Call) -> Interval:
    slope = call.number("negative_slope", 0.01)
    if slope is None or slope < 0:
        return call.x if call.x.lo >= 0 else TOP.with_nan(call.x.nan)
    if slope == 0:
        return _relu(call).with_nan(call.x.contains(-math.inf))
    return Monotone(lambda x: x if x >= 0 else x * slope).image(call.x, call.fmt)


def _elu(call: Call, alpha: float | None, scale: float, stretch: float | None = 1.0) -> Interval:
    if alpha is None or stretch is None or alpha < 0 or stretch <= 0:
        return TOP.with_nan(call.x.nan)
    return Monotone(
        lambda x: scale * (x if x >= 0 else alpha * math.expm1(x / stretch)), strict=alpha > 0
    ).image(call.x, call.fmt)


def _celu(call: Call) -> Interval:
    alpha = call.number("alpha", 1.0)
    return _elu(call, alpha, 1.0, stretch=alpha)


def _softplus(call: Call) -> Interval:
    """log(1 + exp(beta x)) / beta; reaches 0 by underflow."""
    beta, threshold = call.number("beta", 1.0), call.number("threshold", 20.0)
    if beta is None or threshold is None or beta <= 0:
        return TOP.with_nan(call.x.nan)

    def function(x: float) -> float:
        return x if x * beta > threshold else scalars.softplus(beta * x) / beta

    return Monotone(total(function), attains=BELOW).image(call.x, call.fmt)


def _dropout(call: Call) -> Interval:
    """Each element 0, or x / (1 - p)."""
    p = call.number("p", 0.5)
    if p is None:
        scale = AT_LEAST_ONE
    else:
        scale = Interval.point(1.0) if not 0 <= p < 1 else Interval.point(1 / (1 - p)).rounded(call.fmt)
    kept = arithmetic.mul(call.x, scale, call.fmt)
    dropped = kept.join(call.x).join(ZERO).with_nan(call.x.reaches_infinity)
    return call.x if call.params.get("training") is False else dropped


def _softmax(call: Call) -> Interval:
    """Attains 0 by underflow, and 1; NaN for a row that is all -inf or holds inf.

    Above 0 only where the operands' spread is too small for any underflow.
    """
    x = call.x
    spread = x.hi - x.lo if x.is_bounded else math.inf
    # A row of 2**24 elements divides the smallest term by no more than that.
    positive = math.exp(-min(spread, 700.0)) >= call.fmt.tiny * 2.0**24
    return Interval(0.0, 1.0, lo_open=positive, nan=_breaks_softmax(x))


def _breaks_softmax(x: Interval) -> bool:
    return x.nan or x.reaches_infinity


def _log_softmax(call: Call) -> Interval:
    x = call.x
    return Interval(-math.inf, 0.0, lo_open=not x.contains(-math.inf), nan=_breaks_softmax(x))


def _logsumexp(call: Call) -> Interval:
    """At least the largest operand, with no upper bound known: the row's length adds its logarithm."""
    x = call.x
    low = Interval.point(-math.inf) if not call.flag("nonempty", True) else x
    return Interval(
        low.lo, math.inf, low.lo_open and math.isinf(low.lo), hi_open=not x.contains(math.inf), nan=x.nan
    )


def _logaddexp(call: Call) -> Interval:
    """The larger operand, and at most log 2 more."""
    larger = arithmetic.maximum(call.x, call.operand(1, "other"))
    return arithmetic.add(larger, Interval(0.0, math.log(2)), call.fmt)


ACTIVATIONS: Mapping[str, Transfer] = {
    "relu": _relu,
    "relu6": lambda call: _between(call, 0.0, 6.0),
    "hardtanh": _hardtanh,
    "hardsigmoid": _hardsigmoid,
    "leaky_relu": _leaky_relu,
    "elu": lambda call: _elu(call, call.number("alpha", 1.0), 1.0),
    "selu": lambda call: _elu(call, _SELU_ALPHA, _SELU_SCALE),
    "celu": _celu,
    "softplus": _softplus,
    "dropout": _dropout,
    "softmax": _softmax,
    "softmin": lambda call: _softmax(Call((arithmetic.neg(call.x),), call.params, call.fmt)),
    "gumbel_softmax": lambda call: UNIT.with_nan(_breaks_softmax(call.x)),
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "logcumsumexp": _logsumexp,
    "logaddexp": _logaddexp,
}
