"""The interval lattice: what is known of the values a tensor's elements take.

An end is *closed* where its value is attainable and *open* where it is not; a closed infinite end says that
an infinity is attainable. `TOP` is therefore open at both infinities: unknown, but no cause known for an
infinity. The empty set has no interval: an operation that may give it returns None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from stablelint.numerics.formats import FloatFormat, round_to
from stablelint.records import dataclass, replace

End = tuple[float, bool]
"""The value of an end, and whether it is open."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A set of floating-point numbers between `lo` and `hi`.

    `lo_open`, `hi_open`: the end is not attained. `nonzero`: 0 is excluded, though it lies strictly inside.
    `nan`: NaN is attainable as well. `integral`: every finite member is a whole number.

    The fields are brought to one canonical form: -0 becomes 0; `nonzero` at an end becomes an open end and is
    itself then false (ask `contains(0)`, not the flag); finite ends of an integral interval are whole and
    closed, so `(0, inf)` over integers is `[1, inf)`. Raises ValueError where no member is left.
    """

    lo: float
    hi: float
    lo_open: bool = False
    hi_open: bool = False
    nonzero: bool = False
    nan: bool = False
    integral: bool = False

    def __post_init__(self) -> None:
        if not (self.nonzero or self.integral) and self.lo < self.hi and self.lo != 0.0 != self.hi:
            if type(self.lo) is type(self.hi) is float:
                return  # canonical as it is; most intervals are
        lo, hi, lo_open, hi_open = float(self.lo) + 0.0, float(self.hi) + 0.0, self.lo_open, self.hi_open
        nonzero = self.nonzero
        if nonzero and not lo < 0 < hi:
            lo_open, hi_open, nonzero = lo_open or lo == 0, hi_open or hi == 0, False
        if self.integral:
            lo, lo_open = _whole_low(lo, lo_open)
            high, hi_open = _whole_low(-hi, hi_open)
            hi = -high + 0.0
            if nonzero and not lo < 0 < hi:
                lo, hi, nonzero = (1.0 if lo == 0 else lo), (-1.0 if hi == 0 else hi), False
        if not lo <= hi or (lo == hi and (lo_open or hi_open)):
            raise ValueError(f"an interval needs a member between its ends {self.lo!r} and {self.hi!r}")
        for name, value in zip(_CANONICAL, (lo, hi, lo_open, hi_open, nonzero), strict=True):
            object.__setattr__(self, name, value)

    @staticmethod
    @lru_cache(maxsize=4096)
    def point(value: float) -> Interval:
        """The interval of one value; for NaN, `TOP` with `nan` set, for no interval holds NaN alone.

        An integer of Python's that no double holds is infinite.
        """
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
        if math.isnan(value):
            return replace(TOP, nan=True)
        return Interval(value, value, integral=value.is_integer())

    @property
    def low_end(self) -> End:
        """The low end."""
        return self.lo, self.lo_open

    @property
    def high_end(self) -> End:
        """The high end."""
        return self.hi, self.hi_open

    @property
    def is_point(self) -> bool:
        """Whether exactly one value is possible, NaN included."""
        return self.lo == self.hi and not self.nan

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    @property
    def reaches_infinity(self) -> bool:
        """Whether an infinity of either sign is attainable."""
        return self.contains(math.inf) or self.contains(-math.inf)

    def contains(self, value: float) -> bool:
        """Whether `value` (a number, an infinity or NaN) is attainable."""
        if self.lo < value < self.hi and not (self.nonzero or self.integral):
            return True
        if math.isnan(value):
            return self.nan
        if (value == 0 and self.nonzero) or (self.integral and value % 1 != 0 and math.isfinite(value)):
            return False
        above = self.lo < value or (self.lo == value and not self.lo_open)
        return above and (value < self.hi or (value == self.hi and not self.hi_open))

    def subset_of(self, other: Interval) -> bool:
        """Whether each value of this interval is one of `other`'s."""
        if (self.nan and not other.nan) or (other.integral and not self.integral and not self._one_whole()):
            return False
        if other.nonzero and self.contains(0.0):
            return False
        low = other.lo < self.lo or (other.lo == self.lo and (self.lo_open or not other.lo_open))
        return low and (self.hi < other.hi or (self.hi == other.hi and (self.hi_open or not other.hi_open)))

    def join(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        if self is other:
            return self
        lo, lo_open = min((self.lo, self.lo_open), (other.lo, other.lo_open))
        hi, hi_shut = max((self.hi, not self.hi_open), (other.hi, not other.hi_open))
        nonzero = not self.contains(0.0) and not other.contains(0.0)
        nan, integral = self.nan or other.nan, self.integral and other.integral
        return interned(lo, hi, lo_open, not hi_shut, nonzero, nan, integral)

    def meet(self, other: Interval) -> Interval | None:
        """What both hold; None where that is nothing."""
        lo, lo_open = max((self.lo, self.lo_open), (other.lo, other.lo_open))
        hi, hi_shut = min((self.hi, not self.hi_open), (other.hi, not other.hi_open))
        try:
            nan, integral = self.nan and other.nan, self.integral or other.integral
            return interned(lo, hi, lo_open, not hi_shut, self.nonzero or other.nonzero, nan, integral)
        except ValueError:
            return None

    def widen(self, other: Interval) -> Interval:
        """An upper bound of both that a loop reaches in a bounded number of steps.

        An end that moves outwards goes to 0 where `other` stays on that side of 0 (closed: a decay
        underflows), and otherwise to an open infinity, or a closed one where `other` attains it.
        """
        joined = self.join(other)
        lo, lo_open = _widened_low(self.lo, self.lo_open, joined.lo, joined.lo_open)
        low_of_negated, hi_open = _widened_low(-self.hi, self.hi_open, -joined.hi, joined.hi_open)
        return replace(joined, lo=lo, hi=-low_of_negated, lo_open=lo_open, hi_open=hi_open)

    def filled(self) -> Interval:
        """All numbers between the ends, 0 and fractions included; NaN as it is."""
        return replace(self, nonzero=False, integral=False)

    def without_zero(self) -> Interval | None:
        """The nonzero members; None where 0 is the only one."""
        try:
            return interned(self.lo, self.hi, self.lo_open, self.hi_open, True, self.nan, self.integral)
        except ValueError:
            return None

    def without_nan(self) -> Interval:
        """The same numbers, NaN left out."""
        return self._where_nan(False) if self.nan else self

    def with_nan(self, nan: bool = True) -> Interval:
        """The same numbers, and NaN where `nan` says so (an attainable NaN stays attainable)."""
        return self._where_nan(True) if nan and not self.nan else self

    def _where_nan(self, nan: bool) -> Interval:
        return interned(self.lo, self.hi, self.lo_open, self.hi_open, self.nonzero, nan, self.integral)

    def rounded(self, fmt: FloatFormat, underflow: bool = False) -> Interval:
        """The members, taken as real numbers, rounded to `fmt`.

        A finite open end becomes closed, for a real number close enough rounds onto it (`1 - 1e-15` is 1 in
        float32). An open end at 0 stays open unless `underflow` is set, and so does `nonzero`: "positive"
        is a claim about where a value comes from, and only an operation known to underflow revokes it.
        """
        if self is TOP or (fmt.bits == 64 and not (self.lo_open or self.hi_open or self.nonzero)):
            return self
        if self.integral and not self.nonzero and self.lo >= -_EXACT and self.hi <= _EXACT:
            return self
        lo, lo_open = _rounded_end(self.lo, self.lo_open, fmt, underflow)
        hi, hi_open = _rounded_end(self.hi, self.hi_open, fmt, underflow)
        if lo == hi:
            lo_open = hi_open = False
        nonzero = self.nonzero and not underflow
        if (lo, hi, lo_open, hi_open, nonzero) == self._identity()[:5]:
            return self
        return interned(lo, hi, lo_open, hi_open, nonzero, self.nan, self.integral)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Interval) or self.lo != other.lo or self.hi != other.hi:
            return False  # as a rule the ends tell, at less cost than all fields
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.lo, self.hi, self.lo_open, self.hi_open, self.nonzero, self.nan, self.integral))

    def _identity(self) -> tuple[float, float, bool, bool, bool, bool, bool]:
        return self.lo, self.hi, self.lo_open, self.hi_open, self.nonzero, self.nan, self.integral

    def _one_whole(self) -> bool:
        return self.lo == self.hi and self.lo % 1 == 0

    def __str__(self) -> str:
        """The interval as messages show it: `[0, 1]`, `(0, inf)`, `[-1, 1] without 0`, `[0, inf] or NaN`."""
        if self.lo == self.hi:
            text = f"{{{_number(self.lo)}}}"
        else:
            left, right = "(" if self.lo_open else "[", ")" if self.hi_open else "]"
            text = f"{left}{_number(self.lo)}, {_number(self.hi)}{right}"
        return text + (" without 0" if self.nonzero else "") + (" or NaN" if self.nan else "")


_EXACT = 256  # to here each format holds all whole numbers
_CANONICAL = ("lo", "hi", "lo_open", "hi_open", "nonzero")


def _whole_low(lo: float, is_open: bool) -> tuple[float, bool]:
    """The lowest whole number a low end admits."""
    if not math.isfinite(lo):
        return lo, is_open
    whole = float(math.ceil(lo))
    return (whole + 1.0 if is_open and whole == lo else whole), False


def _widened_low(old: float, old_open: bool, new: float, new_open: bool) -> tuple[float, bool]:
    if (new, new_open) == (old, old_open):
        return new, new_open
    if new >= 0:
        return 0.0, False
    return -math.inf, new_open or new != -math.inf


def _rounded_end(end: float, is_open: bool, fmt: FloatFormat, underflow: bool) -> tuple[float, bool]:
    stays_open = is_open and (math.isinf(end) or (end == 0 and not underflow))
    return round_to(end, fmt), stays_open


def _number(value: float) -> str:
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return str(int(value))
    short = f"{value:.4g}"
    return short if abs(float(short)) != 1 else f"{value:.8g}"


interned = lru_cache(maxsize=16384)(Interval)
"""`Interval`, for the places where the same few are made over and over."""
TOP = interned(-math.inf, math.inf, True, True, False, False, False)
"""Unknown finite values."""
ANYTHING = Interval(-math.inf, math.inf, nan=True)
"""Every float, infinities and NaN included."""
POSITIVE = Interval(0.0, math.inf, lo_open=True, hi_open=True)
NONNEGATIVE = Interval(0.0, math.inf, hi_open=True)
ZERO = Interval.point(0.0)
UNIT = Interval(0.0, 1.0)
SIGNED_UNIT = Interval(-1.0, 1.0)
BOOLEAN = Interval(0.0, 1.0, integral=True)
COUNT = Interval(0.0, math.inf, hi_open=True, integral=True)
AT_LEAST_ONE = Interval(1.0, math.inf, hi_open=True, integral=True)
"""Whole numbers from 0: indices, counts, sizes."""


def from_ends(ends: Iterable[End], fmt: FloatFormat, nonzero: bool = False, nan: bool = False) -> Interval:
    """The interval spanned by `ends`, rounded to `fmt`; `ANYTHING` without an end: each result is NaN."""
    known = list(ends)
    if not known:
        return ANYTHING
    lo, lo_open = min(known)
    hi, hi_shut = max((value, not is_open) for value, is_open in known)
    if lo == hi:
        return Interval(lo, hi, nan=nan).rounded(fmt)
    return interned(lo, hi, lo_open, not hi_shut, nonzero and lo < 0 < hi, nan, False).rounded(fmt)
