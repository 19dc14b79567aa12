"""Ends of intervals, and the interval that a set of ends spans."""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.interval import ANYTHING, Interval, interned

End = tuple[float, bool]
"""The value of an end, and whether it is open."""


def low_end(x: Interval) -> End:
    """The low end of `x`."""
    return x.lo, x.lo_open


def high_end(x: Interval) -> End:
    """The high end of `x`."""
    return x.hi, x.hi_open


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
