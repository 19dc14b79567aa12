"""Ranges of tensors made from nothing: constants, sequences, samples."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics import arithmetic
from stablelint.numerics.interval import BOOLEAN, COUNT, POSITIVE, TOP, Interval
from stablelint.numerics.ranges.call import Call, Transfer

_HALF_OPEN_UNIT = Interval(0.0, 1.0, hi_open=True)


def _constant(value: Interval) -> Transfer:
    return lambda call: value


def _full(call: Call) -> Interval:
    """`full(size, fill_value)`: the last operand, or the parameter."""
    if call.operands:
        return call.operands[-1]
    return call.operand(0, "fill_value")


def _tensor(call: Call) -> Interval:
    """`tensor(data)`: any of the operands, which are the elements."""
    if not call.operands:
        return call.operand(0, "data")
    result = call.operands[0]
    for other in call.operands[1:]:
        result = result.join(other)
    return result.rounded(call.fmt)


def _arange(call: Call) -> Interval:
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)`, over whole numbers or not."""
    bounds = call.operands
    start = bounds[0] if len(bounds) > 1 else call.named("start") or Interval.point(0.0)
    end = bounds[1] if len(bounds) > 1 else bounds[0] if bounds else call.operand(0, "end")
    step = bounds[2] if len(bounds) > 2 else call.named("step") or Interval.point(1.0)
    integral = start.integral and end.integral and step.integral
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
    hi_open = integral or math.isinf(hi)
    return Interval(start.lo, hi, start.lo_open, hi_open, integral=integral)


def _linspace(call: Call) -> Interval:
    start, end = call.operand(0, "start"), call.operand(1, "end")
    spanned = start.join(end)
    return Interval(spanned.lo, spanned.hi, spanned.lo_open, spanned.hi_open)


def _logspace(call: Call) -> Interval:
    base = call.named("base") or Interval.point(10.0)
    return arithmetic.power(base, _linspace(call), call.fmt)


def _randint(call: Call) -> Interval:
    """`randint(high, size)`, `randint(low, high, size)`: whole numbers, `high` left out."""
    bounds = call.operands
    low = bounds[0] if len(bounds) > 1 else call.named("low") or Interval.point(0.0)
    high = bounds[1] if len(bounds) > 1 else bounds[0] if bounds else call.named("high")
    if high is None or high.hi <= low.lo:
        return Interval(-math.inf, math.inf, lo_open=True, hi_open=True, integral=True)
    return Interval(low.lo, high.hi, low.lo_open, hi_open=True, integral=low.integral and high.integral)


def _uniform(call: Call) -> Interval:
    """`x.uniform_(low, high)`; rounding may reach `high` in a narrow format."""
    low, high = call.named("from") or Interval.point(0.0), call.named("to") or Interval.point(1.0)
    spanned = low.join(high)
    return Interval(spanned.lo, spanned.hi, spanned.lo_open, spanned.hi_open)


_ZERO, _ONE = Interval.point(0.0), Interval.point(1.0)

CREATION: Mapping[str, Transfer] = {
    **{name: _constant(_ZERO) for name in ["zeros", "zeros_like", "new_zeros", "zero_"]},
    **{name: _constant(_ONE) for name in ["ones", "ones_like", "new_ones"]},
    **{name: _constant(_HALF_OPEN_UNIT) for name in ["rand", "rand_like"]},
    **{
        name: _constant(TOP) for name in ["randn", "randn_like", "normal", "empty", "empty_like", "new_empty"]
    },
    **{name: _constant(BOOLEAN) for name in ["eye", "one_hot", "bernoulli"]},
    **{
        name: _constant(COUNT)
        for name in ["randperm", "multinomial", "poisson", "tril_indices", "triu_indices"]
    },
    **dict.fromkeys(["full", "full_like", "new_full", "fill_"], _full),
    **{name: _constant(POSITIVE) for name in ("exponential_",)},
    "tensor": _tensor,
    "new_tensor": _tensor,
    "scalar_tensor": _tensor,
    "arange": _arange,
    "linspace": _linspace,
    "logspace": _logspace,
    "randint": _randint,
    "randint_like": _randint,
    "uniform_": _uniform,
}
