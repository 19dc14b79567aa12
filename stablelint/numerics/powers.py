"""Powers of intervals."""

from __future__ import annotations

import math

from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.functions import BOTH, NEVER, Monotone, Valley, end_image
from stablelint.numerics.interval import ANYTHING, End, Interval, from_ends

_GENTLEST = 2.0  # exponents above it take small numbers to 0


def power(base: Interval, exponent: Interval, fmt: FloatFormat) -> Interval:
    """`base ** exponent`, NaN for a negative base and an exponent that can be fractional.

    As for products, numbers below an open infinity have finite powers and positive numbers positive ones;
    an exponent without bounds overflows and underflows as exp does.
    """
    if exponent.is_point and math.isfinite(exponent.lo):
        return _power_to(base, exponent.lo, fmt)
    if base.is_point and base.lo == 1:
        return Interval.point(1.0)
    if base.is_point and base.lo > 0 and math.isfinite(base.lo):
        return Monotone(lambda y: real_power(base.lo, y), attains=BOTH).image(exponent, fmt)
    nan = base.nan or exponent.nan
    above = base.without_nan().meet(Interval(0.0, math.inf))
    # A zero that ends a range with negative numbers is either zero: -0 to an odd power below 0 is -inf.
    below = base.without_nan().meet(Interval(-math.inf, 0.0)) if base.lo < 0 else None
    if below is None:
        return _nonnegative_power(base, exponent, fmt).with_nan(nan)
    mirrored = _nonnegative_power(Interval(-below.hi, -below.lo, below.hi_open, below.lo_open), exponent, fmt)
    signed = Interval(-mirrored.hi, mirrored.hi, mirrored.hi_open, mirrored.hi_open)
    result = signed if above is None else signed.join(_nonnegative_power(above, exponent, fmt))
    if base.contains(-math.inf) and not exponent.integral:
        result = result.join(Interval(0.0, math.inf))
    return result.with_nan(nan or not exponent.integral)


def real_power(x: float, y: float) -> float:
    """`x ** y` for x ≥ 0, or for whole y; 0 to a negative power is infinite, and so is what overflows."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf


def _power_to(base: Interval, exponent: float, fmt: FloatFormat) -> Interval:
    """`base` to one finite power."""
    if exponent == 0:
        return Interval.point(1.0)
    if exponent == 1:
        return base

    def function(x: float) -> float:
        return real_power(x, exponent)

    attains = _attained(exponent, fmt)
    if exponent % 1 != 0:
        image = Monotone(function, domain=(0.0, math.inf), attains=attains).image(base, fmt)
        # IEEE 754: the sign of an infinite base counts for odd whole powers alone.
        at_infinity = Interval.point(math.inf if exponent > 0 else 0.0)
        return image.join(at_infinity) if base.contains(-math.inf) else image
    if exponent < 0:
        return _negative_whole_power(base, exponent, fmt)
    if exponent % 2 == 0:
        result = Valley(function, 0.0, attains=attains).image(base, fmt)
    else:
        result = Monotone(function, attains=attains).image(base, fmt)
    return result if not base.integral else _integral(result)


def _attained(exponent: float, fmt: FloatFormat) -> tuple[float, ...]:
    """Where bases near 0 have the power of 0 by rounding: 0 itself, and infinities in float16."""
    if exponent < 0:
        rounds = fmt.is_narrow and real_power(fmt.smallest_subnormal, exponent) > fmt.max
    else:
        rounds = exponent > (1 if fmt.is_narrow else _GENTLEST)
    return (0.0,) if rounds else NEVER


def _integral(x: Interval) -> Interval:
    return Interval(x.lo, x.hi, x.lo_open, x.hi_open, x.nonzero, x.nan, integral=True)


def _negative_whole_power(base: Interval, exponent: float, fmt: FloatFormat) -> Interval:
    odd = exponent % 2 == 1
    ends: list[End] = []
    for low, high in _sides(base):
        part = base.without_nan().meet(Interval(low, high))
        for end in () if part is None else (part.low_end, part.high_end):
            value, is_open = end_image(lambda x: real_power(x, exponent), end, _attained(exponent, fmt))
            ends.append((-abs(value) if odd and high == 0 else abs(value), is_open))
    if odd and base.contains(0.0) and base.is_point:
        return Interval(-math.inf, math.inf)
    nonzero = odd and not base.reaches_infinity
    return from_ends(ends, fmt, nonzero, base.nan)


def _sides(base: Interval) -> list[tuple[float, float]]:
    """The halves of the axis that `base` lies in; a zero at its end has the sign of the one half."""
    below, above = (-math.inf, 0.0), (0.0, math.inf)
    if base.lo >= 0 and base.hi > 0:
        return [above]
    return [below] if base.hi <= 0 and base.lo < 0 else [below, above]


def _nonnegative_power(base: Interval, exponent: Interval, fmt: FloatFormat) -> Interval:
    """Powers of a base ≥ 0: monotone in each operand, so the corners span them."""
    if base.contains(math.inf) or exponent.reaches_infinity:
        return Interval(0.0, math.inf, nan=base.nan or exponent.nan)
    values: list[End] = []
    for x, x_open in (base.low_end, base.high_end):
        for y, y_open in (exponent.low_end, exponent.high_end):
            value = real_power(x, y)
            claimed = (value == 0 and x == 0) or (math.isinf(value) and x in (0.0, math.inf))
            claimed = claimed and math.isfinite(y)
            is_open = x_open or y_open if math.isfinite(value) and value != 0 else claimed and x_open
            values.append((value, is_open))
    if base.contains(1.0) or (exponent.contains(0.0) and not exponent.is_point) or _spans_one(base, exponent):
        values.append((1.0, False))
    return from_ends(values, fmt, nan=base.nan or exponent.nan) if values else ANYTHING


def _spans_one(base: Interval, exponent: Interval) -> bool:
    """Whether a corner of infinities hides the value 1 between its neighbours."""
    return base.lo < 1 < base.hi or exponent.lo < 0 < exponent.hi
