"""Values as the path knows them, and as callers may change them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stablelint.analysis.interpret.paths.conditions import narrowed_by
from stablelint.analysis.values.lists import held_by, holding
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import (
    NUMERIC,
    Attained,
    Belief,
    Value,
    belief_in,
    believed,
    restricted,
)
from stablelint.analysis.values.views import behind
from stablelint.numerics.interval import AT_LEAST_ONE, TOP, Interval

_TOLD = 2  # settings of other files that a finding tells, those next to 0


def narrowed(value: Value, frame: Frame) -> Value:
    """The value with the branch's knowledge made its own."""
    return narrowed_value(value, frame.state.effective(value), frame)


def narrowed_value(value: Value, interval: Interval, frame: Frame) -> Value:
    """The value restricted to an interval that a test established."""
    if interval == value.interval:
        return value
    return restricted(value, frame.graph.key("narrowed", value.key, interval), interval, "branch")


def kept_by(mask: Value, truth: bool, value: Value, frame: Frame, by_row: bool = False) -> Value:
    """A value where a mask is `truth`, and where it lies as long as the settings in the mask stay; see `narrowed_by`."""
    kept = narrowed_value(value, narrowed_by(mask, truth, value, frame, by_row=by_row), frame)
    known = frame.state.effective(value)
    if by_row and kept.interval == known:
        flat = narrowed_by(mask, truth, value, frame, by_row=True, matrix=True)
        if flat != known:
            return _believed_as_matrix(kept, flat, mask, frame)
    settings = [v for v in behind(mask, lambda v: v.belief is not None) if v.belief is not None]
    if not settings:
        return kept
    told = narrowed_by(mask, truth, value, frame, settings, by_row)
    belief = belief_in(told, kept.zero, Attained.COINCIDENCE, kept, settings)
    if belief is None or told == known:
        return kept
    key = frame.graph.key("kept", kept.key, mask.key, truth)
    return replace(kept, key=key, belief=belief, origin=kept.origin | {kept.key})


def _believed_as_matrix(kept: Value, interval: Interval, mask: Value, frame: Frame) -> Value:
    """A value that lies so if it has two dimensions, the second of which is the last: `x[(x > 0).all(1)]`."""
    on = kept.belief.on if kept.belief is not None else ()
    flat = Assumption(f"{kept.name or 'what is selected from'} has two dimensions")
    belief = Belief(interval, Attained.NONE, Attained.COINCIDENCE, (*on, flat))
    key = frame.graph.key("matrix", kept.key, mask.key)
    return replace(kept, key=key, belief=belief, origin=kept.origin | {kept.key})


def opened(value: Value, key: int, said: str, frame: Frame) -> Value:
    """The value where others may have set it, or what a list or mapping holds at whatever depth, otherwise."""
    held = held_by(value)
    if held:
        key_at, parts = frame.graph.key, held.items()
        return holding(
            value, {p: opened(v, key_at("element", key, p), f"{said}[{p!r}]", frame) for p, v in parts}, key
        )
    if type(value.default()) in (int, float):
        return open_to_callers(value, key, f"{said}={value.data!r}", ())
    if value.kind not in NUMERIC or value.is_constant or value.interval == TOP:
        return value
    return open_to_callers(value, key, f"{said} stays as it is", ())


def open_to_callers(
    value: Value,
    key: int,
    text: str,
    others: Iterable[float] | None,
    name: str = "",
    elsewhere: Sequence[tuple[float, Assumption]] = (),
) -> Value:
    """What may be set otherwise than to `value`, of which nothing is known then.

    It is believed to be that, or one of the `others`, or of those that `elsewhere` other files set; None for the others
    tells that nothing of what is set can be seen.
    """
    belief = value.belief
    setting = Assumption(text)
    on = belief.on if belief is not None else ()
    if belief is None or value.interval != TOP:
        on = (*on, setting)
    distinct = dict(reversed(elsewhere))
    on = (*on, *(distinct[number] for number in sorted(distinct, key=abs)[:_TOLD]))
    known = believed(value)
    interval, zero = known.interval, known.zero
    for number in (*(others or ()), *(number for number, _ in elsewhere)):
        interval = interval.join(Interval.point(float(number)))
        zero = Attained.EXACT if number == 0 else zero
    ends = known.ends if interval == known.interval else min(known.ends, Attained.COINCIDENCE)
    belief = Belief(interval, zero, ends, on) if others is not None and value.kind in NUMERIC else None
    if (
        others is None and type(value.default()) is int and value.data >= 1
    ):  # a count, of whatever a caller counts
        counted = Assumption(f"{name} is positive")
        belief = Belief(AT_LEAST_ONE, Attained.NONE, Attained.COINCIDENCE, (counted,))
    return replace(
        value, key=key, interval=TOP, zero=Attained.NONE, ends=Attained.NONE, peak=None, guard=None,
        assumed=value.is_constant, belief=belief, name=name or value.name, origin=value.origin | {value.key},
    )  # fmt: skip
