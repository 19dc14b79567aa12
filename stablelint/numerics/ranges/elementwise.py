"""Ranges of arithmetic, comparison, rounding, clamping and selection of elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from stablelint.numerics import arithmetic
from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.interval import ANYTHING, BOOLEAN, NONNEGATIVE, TOP, ZERO, Interval
from stablelint.numerics.powers import power
from stablelint.numerics.ranges.call import Call, Transfer, always
from stablelint.numerics.ranges.elementary import SHAPES

_ONE = Interval.point(1.0)
_TWO_OPERANDS = Callable[[Interval, Interval, FloatFormat], Interval]


def _binary(function: _TWO_OPERANDS) -> Transfer:
    return lambda call: function(call.x, call.operand(1, "other"), call.fmt)


def _scaled_binary(function: _TWO_OPERANDS) -> Transfer:
    """`input ± alpha * other`."""

    def transfer(call: Call) -> Interval:
        other, alpha = call.operand(1, "other"), call.named("alpha")
        return function(call.x, other if alpha is None else arithmetic.mul(alpha, other, call.fmt), call.fmt)

    return transfer


def _div(call: Call) -> Interval:
    mode = call.mode("rounding_mode", "true")
    if mode == "floor":
        return _floor_divide(call)
    quotient = arithmetic.div(call.x, call.operand(1, "other"), call.fmt)
    if mode is None:
        return replace(quotient.join(_floor_divide(call)).join(whole(quotient, math.trunc)), integral=False)
    return whole(quotient, math.trunc) if mode == "trunc" else quotient


def whole(x: Interval, function: Callable[[float], int]) -> Interval:
    """`x` after a monotone rounding to whole numbers; an open end stays the neighbour it admits."""

    def rounded(end: float, is_open: bool, inwards: float) -> tuple[float, bool]:
        if math.isinf(end):
            return end, is_open
        inner = math.nextafter(end, inwards) if is_open else end
        return float(function(inner)), False

    (lo, lo_open), (hi, hi_open) = rounded(x.lo, x.lo_open, math.inf), rounded(x.hi, x.hi_open, -math.inf)
    return Interval(lo, hi, lo_open, hi_open, nan=x.nan, integral=True)


def _floor_divide(call: Call) -> Interval:
    """floor(x / y), computed from the remainder: NaN for an infinite dividend."""
    quotient = arithmetic.div(call.x, call.operand(1, "other"), call.fmt)
    result = whole(quotient, math.floor).with_nan(call.x.reaches_infinity)
    # The floor of a quotient that rounds to -0 is -1.
    signed = quotient.contains(0.0) and (call.x.lo < 0 or call.operand(1, "other").lo < 0)
    return result.join(Interval.point(-1.0)) if signed else result


def _rounding(function: Callable[[float], int]) -> Transfer:
    def transfer(call: Call) -> Interval:
        decimals = call.number("decimals", 0)
        if decimals is None or decimals < 0:
            return replace(TOP if call.x.lo < 0 else NONNEGATIVE, nan=call.x.nan)
        if decimals > 0:
            return call.x.join(whole(call.x, math.floor)).join(whole(call.x, math.ceil))
        return call.x if call.x.integral else whole(call.x, function)

    return transfer


def _frac(call: Call) -> Interval:
    """x - trunc(x): the sign of x, below 1 in magnitude."""
    x = call.x
    if x.integral:
        return ZERO.with_nan(x.nan)
    if x.hi == x.lo == 0:
        return x
    lo, hi = (-1.0 if x.lo < 0 else 0.0), (1.0 if x.hi > 0 else 0.0)
    return Interval(lo, hi, lo_open=lo < 0, hi_open=hi > 0, nan=x.nan or x.reaches_infinity)


def _fmod(call: Call) -> Interval:
    """The remainder with the sign of the dividend; NaN for a divisor of 0 or an infinite dividend."""
    x, y = call.x, arithmetic.absolute(call.operand(1, "other"))
    nan = x.nan or y.nan or y.contains(0.0) or x.reaches_infinity
    lo, hi = max(min(x.lo, 0.0), -y.hi), min(max(x.hi, 0.0), y.hi)
    return Interval(lo, hi, math.isinf(lo), math.isinf(hi), nan=nan, integral=x.integral and y.integral)


def _remainder(call: Call) -> Interval:
    """The remainder with the sign of the divisor; rounding may reach the divisor itself."""
    x, y = call.x, call.operand(1, "other")
    nan = x.nan or y.nan or y.contains(0.0) or x.reaches_infinity
    lo, hi = min(y.lo, 0.0), max(y.hi, 0.0)
    lo_open, hi_open = (math.isinf(end) and not y.contains(end) for end in (lo, hi))
    return Interval(lo, hi, lo_open, hi_open, nan=nan, integral=x.integral and y.integral)


def _sign(call: Call) -> Interval:
    """-1, 0 or 1; 0 for NaN, too."""
    x = call.x
    zero = x.contains(0.0) or x.nan
    lo = -1.0 if x.lo < 0 else 0.0 if zero else 1.0
    hi = 1.0 if x.hi > 0 else 0.0 if zero else -1.0
    return Interval(lo, hi, nonzero=not zero, integral=True)


def _copysign(call: Call) -> Interval:
    magnitude, sign = arithmetic.absolute(call.x), call.operand(1, "other")
    if sign.lo > 0:
        return magnitude
    return magnitude.join(arithmetic.neg(magnitude))


def _clamp(call: Call) -> Interval:
    """`min(max(x, min), max)`: keeps NaN, and where the bounds cross the upper one wins."""
    low, high = call.optional(1, "min"), call.optional(2, "max")
    result = call.x if low is None else arithmetic.maximum(call.x, low)
    return result if high is None else arithmetic.minimum(result, high)


def _nan_to_num(call: Call) -> Interval:
    """What it is called for is expected: of what has no bound, some is taken to be infinite where a number is named."""
    x, most = call.x, call.fmt.max
    places = {"posinf": (most, math.inf, x.hi), "neginf": (-most, -math.inf, x.lo)}
    given = {name: call.named(name) for name in (*places, "nan")}
    fillers = [given["nan"] or ZERO] if x.nan else []
    for name, (default, infinity, end) in places.items():
        if x.contains(infinity) or (given[name] is not None and end == infinity):
            fillers.append(given[name] or Interval.point(default))
    result = x.without_nan().meet(TOP)
    for filled in fillers:
        result = filled if result is None else result.join(filled)
    return ANYTHING if result is None else result


def _lerp(call: Call) -> Interval:
    """start + weight * (end - start); between both where the weight lies in [0, 1], NaN for infinities."""
    start, end, weight = call.x, call.operand(1, "end"), call.operand(2, "weight")
    infinite = not start.join(end).subset_of(TOP)
    if weight.lo >= 0 and weight.hi <= 1 and not weight.nan:
        return start.join(end).filled().with_nan(infinite)
    step = arithmetic.mul(weight, arithmetic.sub(end, start, call.fmt), call.fmt)
    return arithmetic.add(start, step, call.fmt).with_nan(infinite)


def _fused(function: _TWO_OPERANDS) -> Transfer:
    """`input + value * (first op second)`."""

    def transfer(call: Call) -> Interval:
        term = function(call.operand(1, "tensor1"), call.operand(2, "tensor2"), call.fmt)
        value = call.named("value") or _ONE
        return arithmetic.add(call.x, arithmetic.mul(value, term, call.fmt), call.fmt)

    return transfer


def _atan2(call: Call) -> Interval:
    y, x = call.x, call.operand(1, "other")
    lo, hi = (-math.pi if y.lo <= 0 else 0.0), (math.pi if y.hi >= 0 else 0.0)
    if x.lo > 0:
        lo, hi = lo / 2, hi / 2
    return Interval(lo, hi, nan=x.nan or y.nan).rounded(call.fmt)


def _x_times(name: str) -> Transfer:
    """xlogy, xlog1py: 0 where x is 0 and the other operand is a number."""

    def transfer(call: Call) -> Interval:
        logarithm = SHAPES[name].image(call.operand(1, "other"), call.fmt)
        product = arithmetic.mul(call.x, replace(logarithm, nan=False), call.fmt)
        nan = call.x.nan or logarithm.nan or arithmetic.zero_meets_infinity(logarithm, call.x)
        result = product.join(ZERO) if call.x.contains(0.0) else product
        return replace(result, nan=nan)

    return transfer


_TRUTH_VALUES = (
    "eq ne lt le gt ge isnan isinf isposinf isneginf isfinite isclose logical_and logical_or logical_not"
)

ELEMENTWISE: Mapping[str, Transfer] = {
    **dict.fromkeys(_TRUTH_VALUES.split(), always(BOOLEAN)),
    "add": _scaled_binary(arithmetic.add),
    "sub": _scaled_binary(arithmetic.sub),
    "mul": _binary(arithmetic.mul),
    "div": _div,
    "floor_divide": _floor_divide,
    "pow": lambda call: power(call.x, call.operand(1, "exponent"), call.fmt),
    "fmod": _fmod,
    "remainder": _remainder,
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "round": _rounding(round),
    "trunc": _rounding(math.trunc),
    "frac": _frac,
    "sign": _sign,
    "copysign": _copysign,
    "clamp": _clamp,
    "maximum": lambda call: arithmetic.maximum(call.x, call.operand(1, "other")),
    "minimum": lambda call: arithmetic.minimum(call.x, call.operand(1, "other")),
    "where": lambda call: call.operand(1, "input").join(call.operand(2, "other")),
    "masked_fill": lambda call: call.x.join(call.operand(2, "value")),
    "nan_to_num": _nan_to_num,
    "lerp": _lerp,
    "addcmul": _fused(arithmetic.mul),
    "addcdiv": _fused(arithmetic.div),
    "atan2": _atan2,
    "xlogy": _x_times("log"),
    "xlog1py": _x_times("log1p"),
}
