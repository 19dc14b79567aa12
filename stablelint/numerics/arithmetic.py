"""Arithmetic on intervals, rounded to a floating-point format.

The law: for members a and b of the operands, the operation's result in `fmt` is a member of the result. Two
claims are kept that arithmetic alone cannot prove, for a linter that speculates on them is never quiet: sums,
products and quotients of numbers below an *open* infinity are taken to be finite, and products and quotients
of numbers above an *open* zero to be nonzero, unless a factor or divisor takes half of the exponents of `fmt` by
itself (`x * 1e-30`), or `fmt` is float16, which has few. Closed ends overflow and underflow as they do in `fmt`.

A zero carries the sign of the side it ends: +0 for `[0, 1]`, -0 for `[-1, 0]`, either one inside.
"""

from __future__ import annotations

import math
from dataclasses import replace

from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.interval import End, Interval, from_ends, interned


def neg(x: Interval) -> Interval:
    """`-x`; exact in every format."""
    return interned(-x.hi, -x.lo, x.hi_open, x.lo_open, x.nonzero, x.nan, x.integral)


def absolute(x: Interval) -> Interval:
    """`|x|`; exact in every format."""
    if x.lo >= 0:
        return x
    if x.hi <= 0:
        return neg(x)
    hi, hi_shut = max((x.hi, not x.hi_open), (-x.lo, not x.lo_open))
    return Interval(0.0, hi, not x.contains(0.0), not hi_shut, nan=x.nan, integral=x.integral)


def add(a: Interval, b: Interval, fmt: FloatFormat) -> Interval:
    """`a + b`. An open end whose sum is 0 stays open: by Sterbenz, x + y rounds to 0 only where x = -y."""
    opposite = (a.contains(math.inf) and b.contains(-math.inf)) or (
        a.contains(-math.inf) and b.contains(math.inf)
    )
    lo, lo_open = _sum_of_ends(a.low_end, b.low_end, -math.inf)
    hi, hi_open = _sum_of_ends(a.high_end, b.high_end, math.inf)
    if lo == hi:
        lo_open = hi_open = False
    nan, integral = a.nan or b.nan or opposite, a.integral and b.integral
    total = interned(lo, hi, lo_open, hi_open, False, nan, integral)
    return total.rounded(fmt)


def _sum_of_ends(x: End, y: End, outward: float) -> End:
    total = x[0] + y[0]
    if math.isnan(total):
        attained = [value for value, is_open in (x, y) if not is_open]
        return (attained[0] if len(attained) == 1 else outward), False
    if math.isinf(total):
        summands = [is_open for value, is_open in (x, y) if math.isinf(value)]
        return total, bool(summands) and all(summands)
    return total, x[1] or y[1]


def sub(a: Interval, b: Interval, fmt: FloatFormat) -> Interval:
    """`a - b` of operands that vary independently."""
    return add(a, neg(b), fmt)


def mul(a: Interval, b: Interval, fmt: FloatFormat) -> Interval:
    """`a * b` of operands that vary independently; 0 times an attainable infinity is NaN."""
    nan = a.nan or b.nan or zero_meets_infinity(a, b) or zero_meets_infinity(b, a)
    corners = [_product(x, y, fmt) for x in (a.low_end, a.high_end) for y in (b.low_end, b.high_end)]
    minute = fmt.is_narrow or _is_minute(a, fmt) or _is_minute(b, fmt)
    nonzero = not a.contains(0.0) and not b.contains(0.0) and not minute
    product = from_ends((end for end in corners if end is not None), fmt, nonzero, nan)
    return replace(product, integral=True) if a.integral and b.integral else product


def _is_minute(x: Interval, fmt: FloatFormat) -> bool:
    """Whether a factor takes half of the exponents of `fmt` at one of its ends."""
    return any(0 < abs(end) <= fmt.minute for end in (x.lo, x.hi))


def zero_meets_infinity(a: Interval, b: Interval) -> bool:
    """Whether `a` attains 0 and `b` an infinity: their product is NaN then."""
    return a.contains(0.0) and b.reaches_infinity


def _product(x: End, y: End, fmt: FloatFormat) -> End | None:
    if math.isinf(x[0]) and y[0] == 0:
        x, y = y, x
    if x[0] == 0 and math.isinf(y[0]):
        return _zero_times_infinity(x[1], y)
    value = x[0] * y[0]
    if value == 0 and x[0] != 0 and y[0] != 0:
        return 0.0, False
    if math.isinf(value):
        infinite = [is_open for end, is_open in (x, y) if math.isinf(end)]
        return value, bool(infinite) and all(infinite)
    if value == 0:
        vanishes = any(0 < abs(end) <= fmt.minute or (end == 0 and not is_open) for end, is_open in (x, y))
        return 0.0, not (vanishes or (fmt.is_narrow and x[0] == y[0]))
    return value, x[1] or y[1]


def _zero_times_infinity(zero_open: bool, infinity: End) -> End | None:
    """What 0 times an infinity spans: nothing where both are attained, for that is NaN."""
    if not zero_open:
        return (0.0, False) if infinity[1] else None
    return (0.0, True) if infinity[1] else (infinity[0], False)


def div(a: Interval, b: Interval, fmt: FloatFormat) -> Interval:
    """`a / b` of operands that vary independently; x / 0 attains an infinity, 0 / 0 and inf / inf are NaN."""
    both_infinite = a.reaches_infinity and b.reaches_infinity
    nan = a.nan or b.nan or both_infinite or (a.contains(0.0) and b.contains(0.0))
    ends: list[End] = []
    for part in _signed_parts(b):
        for x in (a.low_end, a.high_end):
            for y in (part.low_end, part.high_end):
                ends.extend(_quotient(x, y, math.copysign(1.0, part.lo + part.hi), fmt))
    if b.contains(0.0):
        ends.extend(_over_zero(a, b))
    vast = any(_is_vast(end, fmt) for end in (b.lo, b.hi))
    nonzero = not a.contains(0.0) and not b.reaches_infinity and not vast
    return from_ends(ends, fmt, nonzero, nan)


def _is_vast(divisor: float, fmt: FloatFormat) -> bool:
    """Whether a divisor takes half of the exponents of `fmt` by itself."""
    return math.isfinite(divisor) and abs(divisor) * fmt.minute >= 1


def _signed_parts(b: Interval) -> list[Interval]:
    """The negative and the positive members of `b`, each where there are any."""
    below = Interval(-math.inf, 0.0, hi_open=True)
    above = Interval(0.0, math.inf, lo_open=True)
    return [part for part in (b.meet(below), b.meet(above)) if part is not None]


def _quotient(x: End, y: End, side: float, fmt: FloatFormat) -> list[End]:
    """The limit of x / y where y has the sign `side` and may be an open 0; nothing where none is."""
    (top, top_open), (bottom, bottom_open) = x, y
    if math.isinf(top):
        if math.isinf(bottom):
            if top_open == bottom_open:
                return []
            return [(0.0, False)] if top_open else [(top * side, False)]
        return [(top * side, top_open)]
    if math.isinf(bottom):
        return [(0.0, bottom_open and (top_open or top != 0))]  # beyond an open 0 there are members
    if top == 0:
        return [] if top_open and bottom == 0 else [(0.0, top_open and not _is_vast(bottom, fmt))]
    if bottom == 0:  # float16 has numbers by which ordinary ones are divided to infinities
        overflows = fmt.is_narrow and abs(top) > fmt.max * fmt.smallest_subnormal
        return [(math.copysign(math.inf, top) * side, not overflows)]
    value = top / bottom
    return [(value, (top_open or bottom_open) and value != 0 and math.isfinite(value))]


def _over_zero(a: Interval, b: Interval) -> list[End]:
    """The infinities attained by the nonzero members of `a` over a zero that `b` contains."""
    signs = [1.0] if b.lo == 0 < b.hi else [-1.0] if b.lo < 0 == b.hi else [1.0, -1.0]
    tops = [sign for sign, present in ((1.0, a.hi > 0), (-1.0, a.lo < 0)) if present]
    return [(top * sign * math.inf, False) for top in tops for sign in signs]


def minimum(a: Interval, b: Interval) -> Interval:
    """The smaller of `a` and `b`, NaN where either is; exact in every format."""
    lo, lo_open = min(a.low_end, b.low_end)
    hi, hi_shut = min((a.hi, not a.hi_open), (b.hi, not b.hi_open))
    return Interval(
        lo,
        hi,
        lo_open,
        not hi_shut,
        nonzero=not a.contains(0.0) and not b.contains(0.0),
        nan=a.nan or b.nan,
        integral=a.integral and b.integral,
    )


def maximum(a: Interval, b: Interval) -> Interval:
    """The larger of `a` and `b`, NaN where either is; exact in every format."""
    return neg(minimum(neg(a), neg(b)))
