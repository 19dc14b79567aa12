"""Ranges of reductions and scans.

The number of elements is unknown unless the parameter `size` gives it (a number, or an interval). A reduction
is taken to have an element: `nonempty=False` admits that it has none, and then a sum is 0 and a mean NaN.
Sums and products of unknown length are taken to be finite where their operands are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from stablelint.numerics import arithmetic
from stablelint.numerics.formats import FLOAT16
from stablelint.numerics.functions import Valley
from stablelint.numerics.interval import BOOLEAN, COUNT, TOP, ZERO, Interval
from stablelint.numerics.ranges.call import Call, Transfer, always, first
from stablelint.numerics.ranges.elementary import SHAPES

_SQUARE = Valley(lambda x: x * x, 0.0)


def sum_of(x: Interval, call: Call) -> Interval:
    """The sum of one or more members of `x`."""
    size = call.named("size")
    if size is not None and size.lo >= 1:
        total = arithmetic.mul(x, size, call.fmt)
    else:
        infinite = x.contains(math.inf), x.contains(-math.inf)
        lo, lo_open = (-math.inf, not infinite[1]) if x.lo < 0 else (x.lo, x.lo_open)
        hi, hi_open = (math.inf, not infinite[0]) if x.hi > 0 else (x.hi, x.hi_open)
        total = Interval(lo, hi, lo_open, hi_open, nan=x.nan or all(infinite), integral=x.integral)
    if x.contains(math.inf) and x.contains(-math.inf):
        total = total.with_nan()
    total = replace(total, nonzero=False)
    return total if call.flag("nonempty", True) and not _may_be_empty(size) else total.join(ZERO)


def _may_be_empty(size: Interval | None) -> bool:
    return size is not None and size.lo < 1


def _mean(call: Call) -> Interval:
    """Between the least and the largest element; NaN without elements."""
    x = call.x
    empty = not call.flag("nonempty", True) or _may_be_empty(call.named("size"))
    opposite = x.contains(math.inf) and x.contains(-math.inf)
    return x.filled().with_nan(empty or opposite)


def _nanmean(call: Call) -> Interval:
    """The quotient of a sum, which is rounded to the format first: in float16 that of many elements overflows."""
    mean = _mean(call)
    if call.fmt is not FLOAT16:
        return mean
    return replace(
        mean,
        lo=-math.inf if mean.lo < 0 else mean.lo,
        hi=math.inf if mean.hi > 0 else mean.hi,
        lo_open=mean.lo_open and mean.lo >= 0,
        hi_open=mean.hi_open and mean.hi <= 0,
    )


def _prod(call: Call) -> Interval:
    """Products of many factors underflow to 0, so (0, 1] gives [0, 1]."""
    x = call.x
    nan = x.nan or (x.contains(0.0) and not arithmetic.absolute(x).subset_of(TOP))
    infinite = not arithmetic.absolute(x).without_nan().subset_of(TOP)
    if x.lo >= 1:
        return Interval(x.lo, math.inf, hi_open=not infinite, nan=nan) if x.hi > 1 else x
    magnitude = max(abs(x.lo), abs(x.hi))
    hi, hi_open = (magnitude, False) if magnitude <= 1 else (math.inf, not infinite)
    lo, lo_open = (0.0, False) if x.lo >= 0 else (-hi, hi_open)
    return Interval(lo, max(hi, 0.0), lo_open, hi_open, nan=nan, integral=x.integral)


def _variance(call: Call) -> Interval:
    """At most half the squared width of the operand's range, reached by two elements at its ends."""
    x = call.x
    infinite = not x.without_nan().subset_of(TOP)
    width = x.hi - x.lo
    top = width * width / 2 if math.isfinite(width) else math.inf
    return Interval(0.0, top, hi_open=math.isinf(top) and not infinite, nan=x.nan or infinite).rounded(
        call.fmt
    )


def _norm(call: Call) -> Interval:
    """At least the least magnitude, where its square does not underflow; `p` may be 0 or infinite."""
    magnitude = arithmetic.absolute(call.x)
    order = call.number("p", 2.0)
    if order == 0:
        return COUNT
    if order is not None and math.isinf(order):
        return magnitude
    floor = _SQUARE.image(magnitude, call.fmt).lo
    low = magnitude.lo if floor > 0 and order is not None and order > 0 else 0.0
    infinite = magnitude.contains(math.inf)
    return Interval(low, math.inf, hi_open=not infinite, nan=magnitude.nan)


REDUCTIONS: Mapping[str, Transfer] = {
    **dict.fromkeys("argmax argmin argsort count_nonzero bincount nonzero dim".split(), always(COUNT)),
    **dict.fromkeys(["amax", "amin", "cummax", "unique"], first),
    **dict.fromkeys(["median", "quantile"], lambda call: call.x.filled()),
    **dict.fromkeys(["any", "all"], always(BOOLEAN)),
    **dict.fromkeys(["sum", "cumsum", "trace"], lambda call: sum_of(call.x, call)),
    "mean": _mean,
    "nanmean": _nanmean,
    "prod": _prod,
    "cumprod": _prod,
    "var": _variance,
    "std": lambda call: SHAPES["sqrt"].image(_variance(call), call.fmt),
    "norm": _norm,
}
