"""Members of an interval, as numbers of a format, for the tests that compare with torch."""

import math
import random

from hypothesis import strategies as st

from stablelint.numerics.formats import FLOAT16, FloatFormat, round_to
from stablelint.numerics.interval import Interval


def members(x: Interval, fmt: FloatFormat, chance: random.Random, count: int = 16) -> list[float]:
    """`count` members of `x`: its closed ends, 0 where contained, and numbers between.

    Beyond an open zero or infinity the members stay moderate, as the claims of interval arithmetic ask.
    """
    least, most = (0.25, 8.0) if fmt is FLOAT16 else (2.0**-10, 2.0**10)
    zero = -0.0 if x.lo < 0 == x.hi else 0.0
    known = (x.lo or zero, x.hi or zero, zero, 1.0, -1.0)
    found = [end for end in known if x.contains(end) and round_to(end, fmt) == end]
    attempts = 0
    while len(found) < count and attempts < 200:
        attempts += 1
        value = _candidate(x, least, most, chance)
        value = round_to(float(round(value)) if x.integral else value, fmt)
        if x.contains(value):
            found.append(value)
    assert found, f"no member of {x} in {fmt.name}"
    found = [each or zero for each in found]
    chance.shuffle(found)
    return (found * count)[:count]


def _candidate(x: Interval, least: float, most: float, chance: random.Random) -> float:
    if math.isfinite(x.lo) and math.isfinite(x.hi) and chance.random() < 0.6:
        value = chance.uniform(x.lo, x.hi)
        return value if abs(value) >= least / 16 else x.lo
    magnitude = math.exp(chance.uniform(math.log(least), math.log(most)))
    anchor = chance.choice([end for end in (0.0, x.lo, x.hi) if math.isfinite(end)])
    return anchor + chance.choice((-1.0, 1.0)) * magnitude


def holds(result: Interval, value: float, fmt: FloatFormat, ulps: float = 8.0) -> bool:
    """Whether `value` is a member of `result`, up to `ulps` units in the last place beyond a finite end."""
    if math.isnan(value) or result.contains(value):
        return result.contains(value)
    if not math.isfinite(value) or (value == 0 and (result.nonzero or 0.0 in (result.lo, result.hi))):
        return any(math.isfinite(end) and abs(end) > fmt.max * (1 - ulps * fmt.eps) for end in ends(result))
    return any(
        math.isfinite(end) and abs(value - end) <= ulps * (fmt.eps * abs(end) + fmt.smallest_subnormal)
        for end in ends(result)
    ) or (result.lo < value < result.hi and not result.integral)


def ends(x: Interval) -> tuple[float, float]:
    return x.lo, x.hi


def _numbers() -> st.SearchStrategy[float]:
    special = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, -2.0, math.inf, -math.inf])
    return special | st.integers(-1600, 1600).map(lambda sixteenths: sixteenths / 16)


@st.composite
def intervals(draw: st.DrawFn, nan: bool = False) -> Interval:
    """Any interval, points and infinite ends among them."""
    lo, hi = sorted((draw(_numbers()), draw(_numbers())))
    flags = [draw(st.booleans()) for _ in range(5)]
    try:
        return Interval(lo, hi, flags[0], flags[1], flags[2], nan and flags[3], flags[4])
    except ValueError:
        return Interval(lo, hi)
