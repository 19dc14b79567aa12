"""Whole numbers around a centre, as the taps of a kernel have them: `arange(n) - n // 2` holds a 0.

So does `[i - n // 2 for i in range(n)]`, whose loop variable stands for the taps.
"""

from __future__ import annotations

import ast

from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.numerics.formats import FLOAT32
from stablelint.numerics.interval import Interval
from stablelint.numerics.ranges import range_of

_SCALED = frozenset(
    "mul div neg pow square abs exp math.exp".split()
)  # of what lies at the centre and of numbers
_DEPTH = 8


def at_centre(value: Value, depth: int = _DEPTH) -> Interval | None:
    """Where the element lies at the centre of the steps that a value is made of; None where it is made otherwise."""
    value = stripped(value)
    if value.op == "tensor" and (listed := _for_each_tap(value.operands.get("data"))) is not None:
        return at_centre(listed, depth)
    if _is_centred(value):
        return Interval.point(0.0)
    if _is_shifted(value):
        return Interval(-0.5, 0.5)
    parts = list(value.operands.values())
    if value.op not in _SCALED or not depth:
        return None
    inner = [part for part in parts if part.kind is not Kind.NUMBER or _is_made_of_taps(part)]
    scaled = {"mul": inner, "div": parts[:1]}.get(value.op, [])
    if any(at_centre(part, depth - 1) == Interval.point(0.0) for part in scaled):
        return Interval.point(0.0)  # whatever it is multiplied or divided by
    if len({part.key for part in inner}) != 1 or (found := at_centre(inner[0], depth - 1)) is None:
        return None
    ranges = [found if part in inner else part.interval for part in parts]
    if value.op == "div":
        ranges[1] = ranges[1].without_zero() or ranges[1]  # which is for that quotient to answer for
    return range_of(value.op.removeprefix("math."), ranges, {}, FLOAT32)


def _for_each_tap(listed: Value | None) -> Value | None:
    """The element of a list that a comprehension makes for each of the taps that it is made of; None of other lists."""
    made = None if listed is None or listed.op != "list_of" else listed.node
    if (
        listed is None or not isinstance(made, ast.ListComp) or listed.zero is Attained.EXACT
    ):  # some are left out
        return None
    targets = [generator.target for generator in made.generators]
    taps = [part for part in behind(listed.operands["element"]) if part.op == "loop_index"]
    return listed.operands["element"] if all(tap.node in targets for tap in taps) else None


def _is_made_of_taps(number: Value) -> bool:
    return any(part.op == "loop_index" for part in behind(number))


def _is_centred(value: Value) -> bool:
    """`arange(n) - n // 2`, `arange(-r, r + 1)`, `linspace(-r, r, 2 * r + 1)`."""
    if value.op == "arange":
        return radius_of(value) is not None
    if value.op == "linspace":
        return _is_symmetric(value)
    whole, shift = value.operands.get("input"), value.operands.get("other")
    if value.op != "sub" or whole is None or shift is None or shift.op != "floor_divide":
        return False
    count = count_of(stripped(whole))
    by = shift.operands["other"].constant()
    return count is not None and count.key == shift.operands["input"].key and type(by) is int and by >= 2


def _is_shifted(value: Value) -> bool:
    """`x - x.mean()`, `arange(n) - (n - 1) / 2`, `arange(n) - n / 2`."""
    whole, shift = value.operands.get("input"), value.operands.get("other")
    if value.op != "sub" or whole is None or shift is None:
        return False
    steps, shift = stripped(whole), stripped(shift)
    if shift.op == "mean" and shift.first is not None:
        return steps.op == "arange" and len(_bounds(steps)) < 3 and stripped(shift.first).key == steps.key
    count = count_of(steps)
    if shift.op != "div" or count is None or shift.operands["other"].constant() != 2:
        return False
    dividend = shift.operands["input"]
    last = dividend.op == "sub" and dividend.operands["other"].constant() == 1
    return (dividend.operands["input"] if last else dividend).key == count.key


def count_of(taps: Value) -> Value | None:
    """The number of taps that count from 0: the only bound of `arange(n)` or `range(n)`."""
    if taps.op == "loop_index" and isinstance(taps.data, Value):
        return taps.data.operands["stop"] if taps.data.operands.keys() == {"stop"} else None
    bounds = _bounds(taps) if taps.op == "arange" else []
    return bounds[0] if len(bounds) == 1 else None


def _is_symmetric(taps: Value) -> bool:
    """Whether an odd number of steps runs from one end to its negative."""
    start, end, steps = (taps.operands.get(name) for name in ("start", "end", "steps"))
    if start is None or end is None or steps is None or start.op != "neg":
        return False
    return start.operands["input"].key == end.key and _is_odd(steps)


def _is_odd(count: Value) -> bool:
    known = count.constant()
    if type(known) is int:
        return known % 2 == 1
    parts = list(count.operands.values()) if count.op == "add" else []
    for one, other in (parts, parts[::-1]) if len(parts) == 2 else ():
        doubled = one.op == "mul" and any(v.constant() == 2 for v in one.operands.values())
        if doubled and other.constant() == 1:
            return True
    return False


def radius_of(taps: Value) -> Value | None:
    """How far whole numbers run from 0 to both sides: `arange(-r, r + 1)`, `arange(-2 * r, 2 * r + 1)`."""
    bounds = _bounds(taps) if taps.op == "arange" else []
    parts = list(bounds[1].operands.values()) if len(bounds) == 2 and bounds[1].op == "add" else []
    sides = [a for a, b in (parts, parts[::-1]) if b.constant() == 1] if parts else []
    return next((side for side in sides if _are_opposite(bounds[0], side)), None)


def _are_opposite(one: Value, other: Value) -> bool:
    if one.op == "neg":
        return one.operands["input"].key == other.key
    factors = list(zip(one.operands.values(), other.operands.values(), strict=False))
    turned = [_is_negative_of(a, b) for a, b in factors]
    return (
        one.op == other.op == "mul"
        and sum(turned) == 1
        and all(is_turned or a.key == b.key for is_turned, (a, b) in zip(turned, factors, strict=True))
    )


def _is_negative_of(one: Value, other: Value) -> bool:
    known = one.constant(), other.constant()
    return all(type(number) is int for number in known) and known[0] == -known[1] != 0


def _bounds(taps: Value) -> list[Value]:
    return [taps.operands[name] for name in ("start", "end", "step") if name in taps.operands]
