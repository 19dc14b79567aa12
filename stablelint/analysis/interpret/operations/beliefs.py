"""What an operation yields as long as something is as it is meant to be: a setting positive, an operand not negative."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.values.families import HANDED_OVER, SETTINGS
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.relations.increasing import grown_between
from stablelint.analysis.values.relations.maxima import beside_extreme, own_maximum
from stablelint.analysis.values.relations.results import (
    ABOVE_HALF,
    divided_whole,
    in_matrix,
    is_share,
    passed_through,
)
from stablelint.analysis.values.relations.rows import MEASURES_OF_ROWS, of_own_rows
from stablelint.analysis.values.relations.squares import root_of, unscaled
from stablelint.analysis.values.relations.wholes import united
from stablelint.analysis.values.selections import can_be_empty, places_not_known
from stablelint.analysis.values.state import State
from stablelint.analysis.values.value import NUMERIC, Attained, Belief, Kind, Value
from stablelint.analysis.values.views import about, behind, stripped
from stablelint.numerics.formats import FLOAT32
from stablelint.numerics.interval import AT_LEAST_ONE, NONNEGATIVE, POSITIVE, TOP, Interval
from stablelint.syntax.operations import SELECTIONS, VIEWS, having

Operands = Mapping[str, Value]
Law = Callable[[Value, Operands, State], Belief | None]

_NONZERO = Interval(-math.inf, math.inf, True, True, nonzero=True)
_TINY = 1e-2  # a literal below is added to keep a number off 0, and not for its own sake
_DEPTH = 4
_MANY, _LEAST = 1e5, 1e-30  # factors, and a product of them
_ONE_BY_ONE = frozenset("add sub mul div neg pow sqrt".split())
_FACTORS = frozenset("mul div phi sum mean".split())
_NUMBERS = VIEWS | {"item"}
_MODERATE = 64.0  # in single precision the exponential of it is finite, and that of its opposite not 0
# How a result grows with its operands; `*` is either way.
_SIGNS = {"add": "++", "sub": "+-", "mul": "**", "neg": "-"}
_GROWING = _NUMBERS | having("rectify") | {"softplus"}
_LONG = 8  # operations in a row
_PRODUCTS = having("product") | {"mul", "sum"}
_SIZES = having("size")
_TAKEN = HANDED_OVER | SELECTIONS


def belief_of(value: Value, operands: Operands, state: State) -> Belief | None:
    """What is believed of a result for its own sake, whatever is believed of its operands."""
    law = _LAWS.get(value.op)
    return law(value, operands, state) if law is not None else None


def _assumed(interval: Interval, text: str, *operands: Value) -> Belief:
    """The belief that a value lies in `interval`, which rests on `text` and on what its operands rest on."""
    held = dict.fromkeys(a for v in operands if v.belief is not None for a in v.belief.on)
    setting = Assumption(text)
    return Belief(interval, Attained.NONE, Attained.COINCIDENCE, (*held, setting))


def _between_bounds(value: Value, operands: Operands, state: State) -> Belief | None:
    """A clamp whose bounds do not cross, where the upper one is not known, or both are made with one setting."""
    if not {"input", "min", "max"} <= operands.keys():
        return None
    low, high = (state.believed(operands[name]) for name in ("min", "max"))
    if math.isinf(low.lo) and math.isinf(high.hi):
        return _within_margin(value, operands["min"], operands["max"])
    if high.lo > low.lo or high.hi < low.lo or math.isinf(low.lo):
        return None
    text = f"{operands['max'].name or 'max'} is above {operands['min'].name or low.lo}"
    return _assumed(Interval(low.lo, math.inf, hi_open=True), text, *operands.values())


def _within_margin(value: Value, low: Value, high: Value) -> Belief | None:
    """`clamp(eps, 1 - eps)` and `clamp(-(1 - eps), 1 - eps)`, for a margin that is positive."""
    margin, beside = _margin(low), _margin(high)
    if margin is None or beside is None or margin[1].key != beside[1].key or not margin[2] > 0 > beside[2]:
        return None
    if margin[0] >= beside[0]:
        return None
    interval = Interval(margin[0], beside[0], lo_open=True, hi_open=True)
    return _assumed(interval, f"{margin[1].name or 'the margin'} is positive")


def _margin(bound: Value) -> tuple[float, Value, int] | None:
    """A bound as a literal, a setting, and the sign with which it is added: `1 - eps`."""
    if bound.op in SETTINGS and bound.kind is not Kind.TENSOR:
        return 0.0, bound, 1
    if bound.op == "neg" and bound.first is not None:
        inner = _margin(bound.first)
        return (-inner[0], inner[1], -inner[2]) if inner is not None else None
    parts = list(bound.operands.values()) if bound.op in ("add", "sub") else []
    literal = next((v for v in parts if v.is_constant and v.kind is Kind.NUMBER), None)
    inner = next((_margin(v) for v in parts if v is not literal), None)
    if literal is None or inner is None or inner[0]:
        return None
    return float(literal.data), inner[1], -inner[2] if bound.op == "sub" and parts[0] is literal else inner[2]


def _of_union(operands: Operands, state: State) -> Belief | None:
    """What two masks, one of which is known to hold an element, have together: half of their sum, but for rounding."""
    whole = state.believed(operands["input"])
    parts = united(operands) if whole.lo > 0 else []
    names = " and ".join(part.name or "the other" for part in parts)
    known = Interval(whole.lo / 4, math.inf, hi_open=True)
    return _assumed(known, f"{names} have one shape", operands["input"]) if parts else None


def _of_step(value: Value, operands: Operands, state: State) -> Belief | None:
    """`c[..., 1:] - c[..., :-1]`, where each element of c is larger than the one before it, but for rounding."""
    numbers = grown_between(operands)
    text = "no step is smaller than its rounding"
    return _assumed(POSITIVE, text, *numbers) if numbers is not None else None


def _difference(value: Value, operands: Operands, state: State) -> Belief | None:
    """A difference of steps, or of a value and its own maximum or minimum where that lies along its rows."""
    if not {"input", "other"} <= operands.keys():
        return None
    beside = beside_extreme(operands)
    if beside is None or beside[1].is_shown:
        return _of_union(operands, state) or _of_step(value, operands, state)
    lies, taken = beside[1].given(state.tests), own_maximum(operands)
    if lies is None:
        return None
    peak = taken.attained if taken is not None else None
    return Belief(beside[0], Attained.NONE, Attained.COINCIDENCE, lies.assumptions, peak)


def _of_own_rows(value: Value, operands: Operands, state: State) -> Belief | None:
    """A measure of the rows in which it is not 0."""
    found = of_own_rows(value.op, operands, value.interval)
    if found is None or found[1] is None:
        return None
    return Belief(found[0], Attained.NONE, Attained.COINCIDENCE, (found[1],))


def _of_matrix(value: Value, operands: Operands, state: State) -> Belief | None:
    """A sum along a side of a matrix, or a product with one."""
    found = in_matrix(value.op, operands)
    return _assumed(found[0], found[1]) if found is not None else None


def _total(value: Value, operands: Operands, state: State) -> Belief | None:
    """How many elements a histogram has counted; a sum along a side of a matrix."""
    whole = operands.get("input")
    counted = (about(whole) if "dim" in operands else stripped(whole)) if whole is not None else None
    given = counted.first if counted is not None and counted.op == "bincount" else None
    if given is None:
        return _of_own_rows(value, operands, state) or _of_matrix(value, operands, state)
    if can_be_empty(given, state) or places_not_known(given, state) is not None:
        return None
    return _assumed(AT_LEAST_ONE, f"{given.name or 'what is counted'} is not empty")


def _added(value: Value, operands: Operands, state: State) -> Belief | None:
    """What is taken and added again, where it is no larger than what rounding keeps; or an offset."""
    passed = passed_through(operands)
    if passed is None:
        return _lifted(value, operands, state)
    text = f"{passed[1].name or 'what is taken and added again'} is not large"
    return _assumed(passed[0].interval, text, *passed)


def _lifted(value: Value, operands: Operands, state: State) -> Belief | None:
    """`x + eps`: 0 for no x that is not negative, as long as the offset is positive."""
    if operands.keys() != {"input", "other"} or not value.interval.contains(0.0):
        return None
    for lift, base in (("other", "input"), ("input", "other")):
        found = _lifted_by(operands[lift], operands[base], value, state)
        if found is not None:
            return found
    return _whole(value, operands, state)


def _whole(value: Value, operands: Operands, state: State) -> Belief | None:
    """`x.sum() + (1 - x).cumsum(0)`: what is counted together with what it leaves of 1 is taken to be a share."""
    divided = divided_whole(operands)
    if divided is None:
        return None
    if not all(_may_be_share(one, state) for one in leaves(stripped(divided))):
        return None
    return _assumed(ABOVE_HALF, f"{divided.name or 'what is counted'} lies in [0, 1]", divided)


def _may_be_share(value: Value, state: State) -> bool:
    """Whether a value lies in [0, 1], or is handed over, or picked from what is, and nothing is known of it."""
    known = state.believed(value)
    return is_share(known) or (known == TOP and stripped(value).op in _TAKEN)


def _lifted_by(lift: Value, base: Value, value: Value, state: State) -> Belief | None:
    offset, known = state.believed(lift), state.believed(base)
    if base.is_constant or base.ends >= Attained.SATURATION or base.kind not in NUMERIC:  # fmt: skip
        return None
    if known.lo >= 0:
        zeroed = Attained.EXACT in (lift.zero, lift.belief.zero if lift.belief is not None else lift.zero)
        free = lift.kind is Kind.NUMBER and not zeroed and not offset.hi <= 0 and not _is_read(lift)
        text = f"{lift.name or 'the offset'} is positive"
        given = lift.default() if lift.assumed else None  # unless a caller says otherwise
        is_kept = isinstance(given, int | float) and given >= FLOAT32.tiny
        chosen = free and (lift.op in SETTINGS or offset.lo == 0 or is_kept)
        return _assumed(POSITIVE, text, base) if chosen else None
    if not _is_offset(lift, offset) or math.isfinite(known.lo) or _cancels(base, _DEPTH):
        return None  # what is known to go below 0 is not believed to stay above
    if base.op == "sub" or offset.hi >= _TINY:
        return _assumed(_NONZERO, f"{base.name or 'what is added to'} is not minus the offset", lift, base)
    text = f"{base.name or 'what it is added to'} is not negative"
    return _assumed(Interval(offset.lo, math.inf, hi_open=True), text, lift, base)


def _is_read(number: Value) -> bool:
    """Whether a number was read out of a tensor's values, and so is no offset that was chosen."""
    return any(v.kind is Kind.TENSOR for v in behind(number, lambda v: v.op in _SIZES))


def smoothed(numerator: Value, divisor: Value) -> Value:
    """The divisor of `(a + 1) / (b + 1)`: what the same literal is added to above is counts and sizes, not negative."""
    top, bottom = stripped(numerator), stripped(divisor)
    if bottom.belief is not None or bottom.op != "add" or top.op != "add" or bottom.interval.lo > -math.inf:
        return divisor
    shared = [
        v
        for v in bottom.operands.values()
        if v.is_constant and any(v.key == w.key for w in top.operands.values())
    ]
    bases = [v for v in bottom.operands.values() if v not in shared]
    if len(shared) != 1 or not shared[0].interval.lo > 0:
        return divisor
    if stripped(bases[0]).op == "sub" or _cancels(bases[0], _DEPTH):
        return divisor
    text = f"{bases[0].name or 'what is added to'} is not negative"
    least = Interval(shared[0].interval.lo, math.inf, hi_open=True)
    return replace(divisor, belief=_assumed(least, text, *bases))


def exceeding(numerator: Value, divisor: Value, state: State) -> Value:
    """The divisor of what is made of a number that a test has shown to be smaller: positive if that is not negative."""
    known = Kind.TENSOR in (numerator.kind, divisor.kind) or divisor.belief is not None
    if known or divisor.zero > Attained.COINCIDENCE or not state.effective(divisor).contains(0.0):
        return divisor
    exact = divisor
    while exact.op in _NUMBERS and "rounded" not in exact.operands and exact.first is not None:
        exact = exact.first
    for part in _parts(numerator):
        gap = state.gap({"input": exact, "other": part})
        if gap is not None and (gap.lo > 0 or (gap.lo == 0 and gap.lo_open)):
            text = f"{part.name or 'the numerator'} is not negative"
            return replace(divisor, belief=_assumed(POSITIVE, text, part))
    return divisor


def below_settings(exponent: Value, state: State) -> Value:
    """An exponent that settings bound from above: a clamp to one, one less a softplus, or what they scale and shift."""
    if exponent.belief is not None or math.isfinite(state.effective(exponent).hi):
        return exponent
    settings = _settings_beyond(exponent, True, state, _LONG)
    if not settings or not any(_is_held(part, state) for part in behind(exponent)):
        return exponent
    low = -math.inf if _settings_beyond(exponent, False, state, _LONG) is None else -_MODERATE
    on = tuple(Assumption(f"{name or 'a bound'} is a moderate number") for name in settings)
    lies = Interval(low, _MODERATE, lo_open=math.isinf(low))
    return replace(exponent, belief=Belief(lies, Attained.NONE, Attained.COINCIDENCE, on))


def _is_held(value: Value, state: State) -> bool:
    """Whether something was computed to stay within bounds: a setting by itself may be trained elsewhere."""
    return value.op in ("clamp", "softplus") or (state.effective(value).is_bounded and not value.is_constant)


def _is_setting(value: Value) -> bool:
    """Whether a value is a number that an object or a caller was configured with, as far as is known."""
    of_object = isinstance(value.data, FunctionInfo) and value.data.name == "__init__"
    known = value.op == "attribute" or value.kind is Kind.NUMBER or of_object
    return value.op in SETTINGS and value.kind is not Kind.TENSOR and known


def _settings_beyond(value: Value, above: bool, state: State, depth: int) -> dict[str, None] | None:
    """The names of the settings that bound a value from above, or from below; None where other things do, or nothing."""
    lies = state.effective(value)
    if lies.hi <= _MODERATE if above else lies.lo >= -_MODERATE:
        return {}
    if _is_setting(value):
        return {value.name: None}
    bound = value.operands.get("max" if above else "min") if value.op == "clamp" else None
    if bound is not None:
        bound = stripped(bound, _NUMBERS)
        return (
            {bound.name: None} if bound.op in SETTINGS else _settings_beyond(bound, above, state, depth - 1)
        )
    if not depth or (value.op not in _SIGNS and value.op not in _GROWING):
        return None
    found = [
        _settings_beyond(one, side is above, state, depth - 1)
        for one, sign in zip(value.operands.values(), _SIGNS.get(value.op, "+"), strict=False)
        for side in ((True,) if sign == "+" else (False,) if sign == "-" else (True, False))
    ]
    return None if None in found else {name: None for one in found for name in one or ()}


def _parts(number: Value) -> Iterator[Value]:
    """The factors and addends that a number is made of."""
    number = stripped(number, _NUMBERS)
    yield number
    if number.op in ("mul", "add"):
        for part in number.operands.values():
            yield from _parts(part)


def _cancels(value: Value, depth: int) -> bool:
    """Whether a value is made of a difference of sizes, which rounding makes negative: `E[x**2] - E[x]**2`.

    What two sizes share is less than their sum: `a + b - shared` is the size of a union. Taken more than once, as in a
    squared distance that is multiplied out, it may be all of it.
    """
    inner = stripped(value)
    if inner.op == "sub" and inner.operands.keys() == {"input", "other"}:
        whole, part = inner.operands.values()
        sizes = all(v.interval.lo >= 0 and not v.is_constant for v in (whole, part))
        summed = stripped(whole).op == "add" and all(v.interval.lo >= 0 for v in whole.operands.values())
        united = summed and not _is_multiple(part, _DEPTH)
        return (sizes and not united) or root_of(unscaled(part)) is not None
    parts = inner.operands.values() if inner.op in _FACTORS and depth else ()
    return any(_cancels(v, depth - 1) for v in parts)


def _is_multiple(value: Value, depth: int) -> bool:
    """Whether a constant multiplies a value, or a factor of it: `2 * x * y`, `(2 * x) @ y`."""
    inner = stripped(value)
    if not depth or inner.op not in _PRODUCTS:
        return False
    numbers = inner.op == "mul" and any(v.is_constant for v in inner.operands.values())
    return numbers or any(_is_multiple(v, depth - 1) for v in inner.operands.values())


def _is_offset(lift: Value, offset: Interval) -> bool:
    """Whether a number is added to keep another off 0: a small literal, or what a setting is by default."""
    if not 0 < offset.lo <= offset.hi < math.inf:
        return False
    return lift.belief is not None or lift.guard == "eps" or (lift.is_constant and offset.hi < _TINY)


def _product(value: Value, operands: Operands, state: State) -> Belief | None:
    """A product of so few factors that it does not come near 0: `cumprod(1 - linspace(1e-4, 0.02, 1000))`."""
    base = operands["input"]
    count, least = _length(base, 2 * _DEPTH), state.believed(base).lo
    if count is None or not 0 < least < 1:
        return None
    most = state.believed(count).hi
    if not most < _MANY or least**most < _LEAST:
        return None
    known = Interval(least**most, math.inf, hi_open=True).meet(state.believed(value))
    return _assumed(known, f"{most:g} factors", base, count) if known is not None else None


def _length(value: Value, depth: int) -> Value | None:
    """How many elements a row of a value has, which is computed one by one from so many even steps."""
    inner = stripped(value)
    if inner.op == "linspace":
        return inner.operands.get("steps")
    if depth == 0 or inner.op not in _ONE_BY_ONE:
        return None
    found = (_length(v, depth - 1) for v in inner.operands.values() if not v.is_constant)
    return next((v for v in found if v is not None), None)


def _entropy(value: Value, operands: Operands, state: State) -> Belief | None:
    """A cross-entropy with targets that are chances, as it is meant: not negative."""
    target = operands.get("target")
    if target is None or target.interval != TOP or value.interval.lo >= 0:
        return None
    held = "holds classes or chances" if value.op == "cross_entropy" else "lies in [0, 1]"
    text = f"{target.name or 'the target'} {held}"
    return _assumed(NONNEGATIVE, text, target)


def _quotient(value: Value, operands: Operands, state: State) -> Belief | None:
    """`dim // heads`, of settings: what is shared out is enough for all."""
    given = [v.name for v in operands.values() if v.op in SETTINGS or v.belief is not None or v.is_constant]
    if value.kind is Kind.TENSOR or len(given) < len(operands) or not any(given):
        return None
    text = " // ".join(v.name or str(v.constant()) for v in operands.values())
    return _assumed(AT_LEAST_ONE, f"{text} is positive", *operands.values())


_LAWS: Mapping[str, Law] = {
    **dict.fromkeys(MEASURES_OF_ROWS, _of_own_rows),
    **dict.fromkeys(("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"), _entropy),
    "clamp": _between_bounds,
    **dict.fromkeys(("matmul", "einsum"), _of_matrix),
    "sum": _total,
    "add": _added,
    "sub": _difference,
    **dict.fromkeys(having("multiply"), _product),
    "floor_divide": _quotient,
}
