"""Ranges of the elementary functions: a table of monotone and one-minimum functions, and the few others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from stablelint.numerics import arithmetic, functions
from stablelint.numerics.formats import FLOAT32
from stablelint.numerics.functions import ABOVE, BELOW, BOTH, Monotone, Valley, total
from stablelint.numerics.interval import SIGNED_UNIT, TOP, ZERO, Interval
from stablelint.numerics.ranges import scalars
from stablelint.numerics.ranges.call import Call, Transfer

_POSITIVE_AXIS = (0.0, math.inf)
_RISING_COSH = total(math.cosh)
_SIGNED = (-1.0, 1.0)

SHAPES: Mapping[str, Monotone | Valley] = {
    "exp": Monotone(total(math.exp), attains=BOTH),
    "exp2": Monotone(total(lambda x: 2.0**x), attains=BOTH),
    "expm1": Monotone(total(math.expm1), attains=BOTH),
    "log": Monotone(total(math.log, at_0=-math.inf), domain=_POSITIVE_AXIS),
    "log2": Monotone(total(math.log2, at_0=-math.inf), domain=_POSITIVE_AXIS),
    "log10": Monotone(total(math.log10, at_0=-math.inf), domain=_POSITIVE_AXIS),
    "log1p": Monotone(total(math.log1p, at_minus_1=-math.inf), domain=(-1.0, math.inf)),
    "sqrt": Monotone(math.sqrt, domain=_POSITIVE_AXIS),
    "rsqrt": Monotone(total(lambda x: 1 / math.sqrt(x), at_0=math.inf), domain=_POSITIVE_AXIS),
    "square": Valley(total(lambda x: x * x), 0.0),
    "sigmoid": Monotone(scalars.sigmoid, attains=BOTH),
    "logsigmoid": Monotone(scalars.logsigmoid, attains=ABOVE),
    "softsign": Monotone(scalars.softsign, undefined=BOTH),
    "tanh": Monotone(math.tanh),
    "asin": Monotone(math.asin, domain=_SIGNED),
    "acos": Monotone(math.acos, domain=_SIGNED),
    "atan": Monotone(math.atan),
    "sinh": Monotone(total(math.sinh), attains=BOTH),
    "cosh": Valley(lambda x: _RISING_COSH(abs(x)), 0.0, attains=BOTH),
    "asinh": Monotone(math.asinh),
    "acosh": Monotone(math.acosh, domain=(1.0, math.inf)),
    "atanh": Monotone(total(math.atanh, at_1=math.inf, at_minus_1=-math.inf), domain=_SIGNED),
    "erf": Monotone(math.erf),
    "erfc": Monotone(math.erfc, attains=ABOVE),
    "erfinv": Monotone(scalars.erfinv, domain=_SIGNED),
    "ndtr": Monotone(scalars.ndtr, attains=BELOW),
    "log_ndtr": Monotone(scalars.log_ndtr, attains=ABOVE),
    "ndtri": Monotone(scalars.ndtri, domain=(0.0, 1.0)),
    "silu": Valley(scalars.silu, -1.2784645427610738, attains=BELOW, undefined=BELOW),
    "mish": Valley(scalars.mish, -1.1924312145154063, attains=BELOW, undefined=BELOW),
    "hardswish": Valley(scalars.hardswish, -1.5, attains=BELOW, undefined=BELOW),
}

_GELU = Valley(scalars.gelu, -0.7517915246935645, attains=BELOW, undefined=BELOW)
_GELU_TANH = Valley(scalars.gelu_tanh, -0.7524614220710162, attains=BELOW, undefined=BELOW)
_ERF_ERROR = 2e-7
_GELU_ERROR = 8e-7  # that of erf times half of the operands at which there is anything left
_TAN = Monotone(math.tan)
_LGAMMA = Valley(total(math.lgamma, at_0=math.inf, at_inf=math.inf), 1.4616321449683623)


def _of_shape(shape: Monotone | Valley) -> Transfer:
    """The transfer function of a table entry."""
    return lambda call: shape.image(call.x, call.fmt)


def _gelu(call: Call) -> Interval:
    """NaN at -inf; at inf as well in oneDNN's kernel for 512-bit vectors, whose last coefficients are 0 there."""
    shape = _GELU_TANH if call.params.get("approximate") == "tanh" else _GELU
    result = shape.image(call.x, call.fmt).with_nan(shape is _GELU and call.x.contains(math.inf))
    # Below 0 the computed 1 + erf(x) cancels: its error is an absolute one, and the result 0 at worst.
    if call.x.lo >= 0:
        return result
    least = shape.function(shape.bottom)
    low = least if result.hi < 0 else max(least, result.lo - _GELU_ERROR)
    return replace(
        result, lo=low, lo_open=False, hi=max(result.hi, 0.0), hi_open=result.hi_open and result.hi > 0
    )


def through_exp(call: Call, shape: str) -> Interval:
    """A function computed with 1 / (1 + exp(-x)): 0 as soon as exp(-x) overflows, far above the exact underflow."""
    exact = SHAPES[shape].image(call.x, call.fmt)
    widest = max(call.fmt.max, FLOAT32.max)  # half types are computed in single precision
    return exact.join(ZERO) if call.x.lo < -math.log(widest) + 0.5 else exact


def _ndtr(call: Call) -> Interval:
    """Computed as (1 + erf) / 2, whose error is an absolute one: small values are lost, to 0 at worst."""
    exact, eps = SHAPES["ndtr"].image(call.x, call.fmt), call.fmt.eps
    return Interval(max(0.0, exact.lo - eps), min(1.0, exact.hi + eps), nan=exact.nan)


def _erf(call: Call) -> Interval:
    """Vector kernels subtract from 1 (Abramowitz and Stegun 7.1.26): an absolute error, and 0 for small operands.

    Only float64 has a kernel whose error is relative.
    """
    exact = SHAPES["erf"].image(call.x, call.fmt)
    if call.fmt.bits == 64 or exact == Interval.point(0.0):
        return exact
    low = max(exact.lo - _ERF_ERROR, -1.0 if exact.lo < 0 else 0.0)
    high = min(exact.hi + _ERF_ERROR, 1.0 if exact.hi > 0 else 0.0)
    return Interval(low, high, nan=exact.nan)


def _rsqrt(call: Call) -> Interval:
    """1 / sqrt(x); the zero of a range with negative numbers may be -0, and gives -inf."""
    result = SHAPES["rsqrt"].image(call.x, call.fmt)
    negative_zero = call.x.lo < 0 and call.x.contains(0.0)
    return result.join(Interval.point(-math.inf)) if negative_zero else result


def _oscillating(call: Call, function: functions.Function, first_peak: float) -> Interval:
    """sin or cos: exact between two turning points, [-1, 1] where a turning point may lie inside."""
    x = call.x
    nan = x.nan or x.reaches_infinity
    if not x.is_bounded or max(abs(x.lo), abs(x.hi)) > 1e6:
        return SIGNED_UNIT.with_nan(nan)
    first = math.ceil((x.lo - first_peak) / math.pi - 1e-9)
    last = math.floor((x.hi - first_peak) / math.pi + 1e-9)
    values = [function(x.lo), function(x.hi)]
    values += [1.0 if turn % 2 == 0 else -1.0 for turn in range(first, min(last, first + 1) + 1)]
    return Interval(min(values), max(values), nan=nan).rounded(call.fmt)


def _tan(call: Call) -> Interval:
    x = call.x
    if x.lo > -1.57 and x.hi < 1.57:
        return _TAN.image(x, call.fmt)
    return TOP.with_nan(x.nan or x.reaches_infinity)


def _logit(call: Call) -> Interval:
    x, eps = call.x, call.named("eps")
    if eps is not None and eps.is_point and 0 <= eps.lo <= 0.5:
        x = arithmetic.maximum(arithmetic.minimum(x, Interval(1 - eps.lo, 1 - eps.lo).rounded(call.fmt)), eps)
    shape = Monotone(
        total(lambda p: math.log(p) - math.log1p(-p), at_0=-math.inf, at_1=math.inf), domain=(0.0, 1.0)
    )
    return shape.image(x, call.fmt)


def _lgamma(call: Call) -> Interval:
    """log|gamma|: infinite at 0 and the negative whole numbers, and without a lower bound between them."""
    x = call.x
    if x.lo >= 0:
        return _LGAMMA.image(x, call.fmt)
    return Interval(-math.inf, math.inf, lo_open=not x.contains(-math.inf), nan=x.nan)


def _digamma(call: Call) -> Interval:
    """Rises over the positive numbers; NaN at the negative whole numbers, infinite at 0."""
    x = call.x
    if x.lo > 0 or (x.lo == 0 and x.lo_open):
        overflows = 0 < x.lo < 1 / call.fmt.max
        return Interval(
            -math.inf, math.inf, lo_open=not overflows, hi_open=not x.contains(math.inf), nan=x.nan
        )
    return Interval(-math.inf, math.inf, nan=x.nan or x.lo < 0)


def _entr(call: Call) -> Interval:
    """-x log x: at most 1/e, 0 at 0, -inf below 0."""
    x = call.x
    if x.lo >= 0:
        valley = Valley(_negated_entropy, 1 / math.e)
        return arithmetic.neg(valley.image(x, call.fmt))
    return Interval(-math.inf, max(0.0, 1 / math.e), nan=x.nan).rounded(call.fmt)


def _negated_entropy(x: float) -> float:
    return 0.0 if x == 0 else math.inf if math.isinf(x) else x * math.log(x)


ELEMENTARY: Mapping[str, Transfer] = {
    **{name: _of_shape(shape) for name, shape in SHAPES.items()},
    "gelu": _gelu,
    "sigmoid": lambda call: through_exp(call, "sigmoid"),
    "silu": lambda call: through_exp(call, "silu"),
    "ndtr": _ndtr,
    "erf": _erf,
    "rsqrt": _rsqrt,
    "sin": lambda call: _oscillating(call, math.sin, math.pi / 2),
    "cos": lambda call: _oscillating(call, math.cos, 0.0),
    "tan": _tan,
    "logit": _logit,
    "lgamma": _lgamma,
    "digamma": _digamma,
    "entr": _entr,
    "abs": lambda call: arithmetic.absolute(call.x),
    "neg": lambda call: arithmetic.neg(call.x),
}
