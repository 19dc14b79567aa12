"""What an operation yields as long as something is as it is meant to be: a setting positive, an operand not negative."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from stablelint.analysis.values.families import SETTINGS
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.relations import in_matrix
from stablelint.analysis.values.squares import root_of, unscaled
from stablelint.analysis.values.state import State
from stablelint.analysis.values.value import Belief, Ground, Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import AT_LEAST_ONE, TOP, Interval

Operands = Mapping[str, Value]
Law = Callable[[Value, Operands, State], Belief | None]

_POSITIVE = Interval(0.0, math.inf, lo_open=True, hi_open=True)
_NONZERO = Interval(-math.inf, math.inf, True, True, nonzero=True)
_TINY = 1e-2  # a literal below is added to keep a number off 0, and not for its own sake
_DEPTH = 4
_FACTORS = frozenset("mul div phi sum mean".split())


def belief_of(value: Value, operands: Operands, state: State) -> Belief | None:
    """What is believed of a result for its own sake, whatever is believed of its operands."""
    law = _LAWS.get(value.op)
    return law(value, operands, state) if law is not None else None


def _assumed(interval: Interval, value: Value, text: str, *operands: Value) -> Belief:
    """The belief that a value lies in `interval`, which rests on `text` and on what its operands rest on."""
    held = dict.fromkeys(a for v in operands if v.belief is not None for a in v.belief.on)
    setting = Assumption(text, getattr(value.node, "lineno", 0))
    return Belief(interval, Ground.NONE, Ground.COINCIDENCE, (*held, setting))


def _between_bounds(value: Value, operands: Operands, state: State) -> Belief | None:
    """A clamp whose bounds do not cross, where the upper one is not known."""
    if not {"input", "min", "max"} <= operands.keys():
        return None
    low, high = (state.believed(operands[name]) for name in ("min", "max"))
    if high.lo > low.lo or math.isinf(low.lo):
        return None
    text = f"{operands['max'].name or 'max'} is above {operands['min'].name or low.lo}"
    return _assumed(Interval(low.lo, math.inf, hi_open=True), value, text, *operands.values())


def _of_matrix(value: Value, operands: Operands, state: State) -> Belief | None:
    """A sum along a side of a matrix."""
    found = in_matrix(value.op, operands)
    return _assumed(found[0], value, f"{found[1]} has two dimensions") if found is not None else None


def _lifted(value: Value, operands: Operands, state: State) -> Belief | None:
    """`x + eps`: 0 for no x that is not negative, as long as the offset is positive."""
    if operands.keys() != {"input", "other"} or not value.interval.contains(0.0):
        return None
    for lift, base in (("other", "input"), ("input", "other")):
        found = _lifted_by(operands[lift], operands[base], value, state)
        if found is not None:
            return found
    return None


def _lifted_by(lift: Value, base: Value, value: Value, state: State) -> Belief | None:
    offset, known = state.believed(lift), state.believed(base)
    if base.is_constant or base.ends >= Ground.SATURATION or base.kind not in (
        Kind.TENSOR, Kind.UNKNOWN, Kind.NUMBER
    ):  # fmt: skip
        return None
    if known.lo >= 0:
        zeroed = Ground.EXACT in (lift.zero, lift.belief.zero if lift.belief is not None else lift.zero)
        free = lift.kind is Kind.NUMBER and not zeroed and not offset.hi <= 0
        text = f"{lift.name or 'the offset'} is positive"
        return (
            _assumed(_POSITIVE, value, text, base)
            if free and (lift.op in SETTINGS or offset.lo == 0)
            else None
        )
    if not _is_offset(lift, offset) or math.isfinite(known.lo) or _cancels(base, _DEPTH):
        return None  # what is known to go below 0 is not believed to stay above
    if base.op == "sub" or offset.hi >= _TINY:
        return _assumed(
            _NONZERO, value, f"{base.name or 'what is added to'} is not minus the offset", lift, base
        )
    text = f"{base.name or 'what it is added to'} is not negative"
    return _assumed(Interval(offset.lo, math.inf, hi_open=True), value, text, lift, base)


def _cancels(value: Value, depth: int) -> bool:
    """Whether a value is made of a difference of sizes, which rounding makes negative: `E[x**2] - E[x]**2`."""
    inner = stripped(value)
    if inner.op == "sub" and inner.operands.keys() == {"input", "other"}:
        sizes = all(v.interval.lo >= 0 and not v.is_constant for v in inner.operands.values())
        return sizes or root_of(unscaled(inner.operands["other"])) is not None
    parts = inner.operands.values() if inner.op in _FACTORS and depth else ()
    return any(_cancels(v, depth - 1) for v in parts)


def _is_offset(lift: Value, offset: Interval) -> bool:
    """Whether a number is added to keep another off 0: a small literal, or what a setting is by default."""
    if not 0 < offset.lo <= offset.hi < math.inf:
        return False
    return lift.belief is not None or lift.guard == "eps" or (lift.is_constant and offset.hi < _TINY)


def _entropy(value: Value, operands: Operands, state: State) -> Belief | None:
    """A cross-entropy with targets that are chances, as it is meant: not negative."""
    target = operands.get("target")
    if target is None or target.interval != TOP or value.interval.lo >= 0:
        return None
    held = "holds classes or chances" if value.op == "cross_entropy" else "lies in [0, 1]"
    text = f"{target.name or 'the target'} {held}"
    return _assumed(Interval(0.0, math.inf, hi_open=True), value, text, target)


def _quotient(value: Value, operands: Operands, state: State) -> Belief | None:
    """`dim // heads`, of settings: what is shared out is enough for all."""
    given = [v.name for v in operands.values() if v.op in SETTINGS or v.belief is not None or v.is_constant]
    if value.kind is Kind.TENSOR or len(given) < len(operands) or not any(given):
        return None
    text = " // ".join(v.name or str(v.constant()) for v in operands.values())
    return _assumed(AT_LEAST_ONE, value, f"{text} is positive", *operands.values())


_LAWS: Mapping[str, Law] = {
    **dict.fromkeys(("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"), _entropy),
    "clamp": _between_bounds,
    "sum": _of_matrix,
    "add": _lifted,
    "floor_divide": _quotient,
}
