"""Ranges of tensors made from nothing: constants, sequences, samples."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics.interval import BOOLEAN, COUNT, POSITIVE, TOP, ZERO, Interval
from stablelint.numerics.powers import power
from stablelint.numerics.ranges.call import Call, Transfer, always

_HALF_OPEN_UNIT = Interval(0.0, 1.0, hi_open=True)
# A draw farther out has a chance of 1e-57; what is made of 64 random bits lies within 10, by whichever method.
_STANDARD_NORMAL = Interval(-16.0, 16.0)


def _arange(call: Call) -> Interval:
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)`, over whole numbers or not."""
    bounds = call.operands
    start = bounds[0] if len(bounds) > 1 else call.named("start") or ZERO
    end = bounds[1] if len(bounds) > 1 else bounds[0] if bounds else call.operand(0, "end")
    step = bounds[2] if len(bounds) > 2 else call.named("step") or Interval.point(1.0)
    integral = start.integral and step.integral  # also on the way to an end that is not
    if step.hi < 0 and step.integral and end.integral:  # whole steps stop before the end
        if start.hi <= end.lo:
            return start
        return Interval(end.lo, start.hi, True, start.hi_open, integral=integral)
    if step.lo <= 0:
        spanned = start.join(end)
        return Interval(spanned.lo, spanned.hi, spanned.lo_open, spanned.hi_open, integral=integral)
    if end.lo <= start.lo and end.hi <= start.lo:
        return start
    # Fractional steps may round onto the end itself; whole ones stop before it.
    hi = max(end.hi, start.lo)
    hi_open = (integral and end.integral) or math.isinf(hi)
    return Interval(start.lo, hi, start.lo_open, hi_open, integral=integral)


def _linspace(call: Call) -> Interval:
    return call.operand(0, "start").join(call.operand(1, "end")).filled()


def _logspace(call: Call) -> Interval:
    base = call.named("base") or Interval.point(10.0)
    return power(base, _linspace(call), call.fmt)


def _randint(call: Call) -> Interval:
    """`randint(high, size)`, `randint(low, high, size)`: whole numbers, `high` left out."""
    bounds = call.operands
    low = bounds[0] if len(bounds) > 1 else call.named("low") or ZERO
    high = bounds[1] if len(bounds) > 1 else bounds[0] if bounds else call.named("high")
    if high is None or high.hi <= low.lo:
        return Interval(-math.inf, math.inf, lo_open=True, hi_open=True, integral=True)
    return Interval(low.lo, high.hi, low.lo_open, hi_open=True, integral=low.integral and high.integral)


def _uniform(call: Call) -> Interval:
    """`x.uniform_(low, high)`; rounding may reach `high` in a narrow format."""
    low, high = call.named("from") or ZERO, call.named("to") or Interval.point(1.0)
    return low.join(high).filled()


CREATION: Mapping[str, Transfer] = {
    **dict.fromkeys(["rand", "rand_like"], always(_HALF_OPEN_UNIT)),
    **dict.fromkeys(["randn", "randn_like"], always(_STANDARD_NORMAL)),
    **dict.fromkeys(["normal", "empty", "empty_like"], always(TOP)),
    **dict.fromkeys(["eye", "one_hot", "bernoulli"], always(BOOLEAN)),
    **dict.fromkeys(["randperm", "multinomial"], always(COUNT)),
    "exponential_": always(POSITIVE),
    "arange": _arange,
    "linspace": _linspace,
    "logspace": _logspace,
    "randint": _randint,
    "uniform_": _uniform,
}
