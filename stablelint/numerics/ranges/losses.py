"""Ranges of loss functions, for the reductions `mean`, `sum` and `none` alike unless said."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.numerics import arithmetic
from stablelint.numerics.interval import TOP, Interval
from stablelint.numerics.ranges.call import Call, Transfer
from stablelint.numerics.ranges.elementary import SHAPES
from stablelint.numerics.ranges.reductions import sum_of

_BCE_CEILING = 100.0  # torch clamps the logarithms of binary_cross_entropy at -100.


def _reduced(element: Interval, call: Call) -> Interval:
    """The mean or the elements themselves keep the bounds, a sum does not."""
    if call.mode("reduction", "mean") in ("sum", "batchmean", None):
        return sum_of(element, call)
    return element.filled()


def _weighted(loss: Interval, call: Call) -> Interval:
    """A loss whose elements have weights: of its sign where these are not negative."""
    given = [w for w in (call.named("weight"), call.named("pos_weight")) if w is not None]
    if all(weight.lo >= 0 for weight in given):
        return Interval(0.0, math.inf, hi_open=loss.hi_open, nan=loss.nan) if given else loss
    return TOP.with_nan(loss.nan)


def _difference(call: Call) -> Interval:
    return arithmetic.sub(call.x, call.operand(1, "target"), call.fmt)


def _mse(call: Call) -> Interval:
    return _weighted(_reduced(SHAPES["square"].image(_difference(call), call.fmt), call), call)


def _l1(call: Call) -> Interval:
    return _weighted(_reduced(arithmetic.absolute(_difference(call)), call), call)


def _at_least_zero(call: Call) -> Interval:
    """Losses ≥ 0 that grow without bound but finite for finite operands."""
    operands = call.operands or (call.x,)
    infinite = any(each.reaches_infinity for each in operands)
    loss = Interval(0.0, math.inf, hi_open=not infinite, nan=infinite or any(each.nan for each in operands))
    return _weighted(loss, call)


def _nll(call: Call) -> Interval:
    if call.named("weight") is not None:
        return TOP.with_nan(call.x.nan)
    return _reduced(arithmetic.neg(call.x), call)


def _bce(call: Call) -> Interval:
    """At most 100 an element, for targets in [0, 1]."""
    target = call.operand(1, "target")
    if not target.subset_of(Interval(0.0, 1.0, nan=True)):
        return TOP.with_nan(call.x.nan or target.nan)
    return _weighted(_reduced(Interval(0.0, _BCE_CEILING, nan=call.x.nan or target.nan), call), call)


def _bce_with_logits(call: Call) -> Interval:
    target = call.operand(1, "target")
    if target.subset_of(Interval(0.0, 1.0)):
        return _at_least_zero(call)
    return TOP.with_nan(call.x.nan or target.nan)


def _unknown_sign(call: Call) -> Interval:
    finite = all(each.subset_of(TOP) for each in call.operands)
    return TOP if finite else Interval(-math.inf, math.inf, nan=True)


LOSSES: Mapping[str, Transfer] = {
    # -log_softmax at the target reaches 0.
    **dict.fromkeys(["cross_entropy", "smooth_l1_loss", "huber_loss"], _at_least_zero),
    **dict.fromkeys(["ctc_loss", "kl_div", "poisson_nll_loss", "gaussian_nll_loss"], _unknown_sign),
    "mse_loss": _mse,
    "l1_loss": _l1,
    "nll_loss": _nll,
    "binary_cross_entropy": _bce,
    "binary_cross_entropy_with_logits": _bce_with_logits,
}
