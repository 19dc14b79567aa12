"""Ranges of operations that select or join elements, and of casts to whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics import arithmetic
from stablelint.numerics.formats import FLOAT16
from stablelint.numerics.interval import BOOLEAN, TOP, ZERO, Interval
from stablelint.numerics.ranges.call import Call, Transfer, always, first
from stablelint.numerics.ranges.elementwise import whole
from stablelint.numerics.ranges.reductions import sum_of


def _padded(call: Call) -> Interval:
    may_be_constant = call.mode("mode", "constant") in (None, "constant")
    return call.x.join(call.named("value") or ZERO) if may_be_constant else call.x


def _within_zeros(call: Call) -> Interval:
    """Windows that reach into a border of zeros, where there is one."""
    return call.x if call.params.get("padding", 0) == 0 else call.x.join(ZERO)


def _pooled(call: Call) -> Interval:
    """Means of such windows, each of which holds an element; sums that a given number divides."""
    windows = _within_zeros(call)
    divisor = call.named("divisor_override")
    if divisor is not None:
        return arithmetic.div(sum_of(windows, call), divisor, call.fmt)
    one_sign = call.x.lo >= 0 or call.x.hi <= 0
    mean = windows.filled()
    return (mean.without_zero() or mean) if one_sign and not call.x.contains(0.0) else mean


def _replaced(position: int, name: str) -> Transfer:
    """Some elements overwritten by those of another operand."""
    return lambda call: call.x.join(call.operand(position, name))


def _copied(call: Call) -> Interval:
    """Every element overwritten; half precision rounds what it is given."""
    source = call.operand(1, "src")
    return source.rounded(call.fmt) if call.fmt is FLOAT16 else source


def _to_integer(call: Call) -> Interval:
    """`x` cut to a whole number; an integer has no infinity and no NaN: what becomes of them is unknown."""
    x = call.x
    if x.nan or not x.without_nan().subset_of(TOP):
        return Interval(-math.inf, math.inf, lo_open=True, hi_open=True, integral=True)
    return x if x.integral else whole(x, math.trunc)


def _looked_up(call: Call) -> Interval:
    """Rows of a table, which are shortened to `max_norm` where that is given."""
    return call.x if call.named("max_norm") is None else call.x.join(ZERO)


_SAME = "max_pool2d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d meshgrid numpy tolist"

STRUCTURE: Mapping[str, Transfer] = {
    **dict.fromkeys(_SAME.split(), first),
    **dict.fromkeys(["avg_pool1d", "avg_pool2d"], _pooled),
    "unfold": _within_zeros,
    "adaptive_avg_pool2d": lambda call: call.x.filled(),
    "embedding": _looked_up,
    **dict.fromkeys(["tril", "triu", "diag", "diag_embed"], lambda call: call.x.join(ZERO)),
    **dict.fromkeys(["int", "long", "byte", "short", "char"], _to_integer),
    "bool": always(BOOLEAN),
    "pad": _padded,
    "masked_scatter": _replaced(2, "source"),
    "index_fill": _replaced(3, "value"),
    "copy_": _copied,
}
