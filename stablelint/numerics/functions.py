"""Images of intervals under functions that are monotone, or fall to one minimum and rise again."""

from __future__ import annotations

import math
from collections.abc import Callable

from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.interval import ANYTHING, End, Interval, from_ends
from stablelint.records import dataclass

Function = Callable[[float], float]

NEVER: tuple[float, ...] = ()
BELOW = (-math.inf,)
ABOVE = (math.inf,)
BOTH = (-math.inf, math.inf)

# Only at these operands does a table function vanish or diverge in real arithmetic: elsewhere a result of
# zero or infinity comes from underflow or overflow, and is attained.
_TRUE_LIMITS = frozenset((-math.inf, -1.0, 0.0, 1.0, math.inf))


def total(function: Function, **limits: float) -> Function:
    """`function` made total: its value where it overflows is the infinity of the operand's sign.

    `limits` gives values the mathematics module refuses, by the name of the operand: `at_0`, `at_1`,
    `at_minus_1`, `at_inf`, `at_minus_inf`.
    """
    given = {_OPERAND_NAMED[name]: value for name, value in limits.items()}

    def extended(x: float) -> float:
        if x in given:
            return given[x]
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)

    return extended


_OPERAND_NAMED = {"at_0": 0.0, "at_1": 1.0, "at_minus_1": -1.0, "at_inf": math.inf, "at_minus_inf": -math.inf}


@dataclass(frozen=True, slots=True)
class Monotone:
    """A monotone function: the ends of its image are the images of the ends.

    `function` is total on the closed `domain` and gives its limits at infinite ends. `attains` lists the
    infinite operands whose limit large finite operands already reach by underflow, overflow or saturation
    (exp reaches 0 and inf); at other open ends the image stays open. Members outside `domain` and at
    `undefined` give NaN. `strict`: only 0 is mapped to the value at 0.
    """

    function: Function
    domain: tuple[float, float] = (-math.inf, math.inf)
    attains: tuple[float, ...] = NEVER
    undefined: tuple[float, ...] = NEVER
    strict: bool = True

    def image(self, x: Interval, fmt: FloatFormat) -> Interval:
        """The range of the function over `x`, in `fmt`."""
        inside, nan = restrict(x, self.domain, self.undefined)
        if inside is None:
            return ANYTHING
        ends = [end_image(self.function, end, self.attains) for end in (inside.low_end, inside.high_end)]
        nonzero = self.strict and inside.nonzero and self.function(0.0) == 0
        return from_ends(ends, fmt, nonzero, nan)


@dataclass(frozen=True, slots=True)
class Valley:
    """A function that falls up to the operand `bottom` and rises after it; fields as in `Monotone`."""

    function: Function
    bottom: float
    attains: tuple[float, ...] = NEVER
    undefined: tuple[float, ...] = NEVER

    def image(self, x: Interval, fmt: FloatFormat) -> Interval:
        """The range of the function over `x`, in `fmt`."""
        inside, nan = restrict(x, (-math.inf, math.inf), self.undefined)
        if inside is None:
            return ANYTHING
        ends = [end_image(self.function, end, self.attains) for end in (inside.low_end, inside.high_end)]
        if inside.lo < self.bottom < inside.hi:
            ends.append((self.function(self.bottom), not inside.contains(self.bottom)))
        return from_ends(ends, fmt, nan=nan)


def restrict(
    x: Interval, domain: tuple[float, float], undefined: tuple[float, ...] = NEVER
) -> tuple[Interval | None, bool]:
    """The members of `x` inside the closed `domain`, and whether a member gives NaN."""
    inside = x.without_nan().meet(Interval(*domain))
    lost = inside is None or inside != x.without_nan() or any(x.contains(each) for each in undefined)
    for each in undefined:
        if inside is not None and inside.contains(each):
            inside = inside.meet(Interval(-math.inf, math.inf, lo_open=each < 0, hi_open=each > 0))
    return inside, x.nan or lost


def end_image(function: Function, end: End, attains: tuple[float, ...]) -> End:
    """The image of an end, open only where the limit is not reached in floating point."""
    operand, is_open = end
    value = function(operand)
    if not is_open or operand in attains:
        return value, False
    if value == 0 or math.isinf(value):
        return value, operand in _TRUE_LIMITS
    return value, True
