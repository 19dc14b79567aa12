"""What the calls of a function that its file shows tell of it, where other files may call it otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.calls import inline
from stablelint.analysis.interpret.calls.elsewhere import critical_passed
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Caller, Frame, State, hand_over
from stablelint.analysis.values.value import NUMERIC, Attained, Belief, Kind, Value, believed
from stablelint.numerics.interval import TOP, Interval


def supposed_arguments(function: FunctionInfo, frame: Frame) -> dict[str, Value]:
    """The parameters of which all calls in sight pass what lies in a range: they are believed to lie in it."""
    calls = frame.session.calls[id(function.node)]
    callers = frame.session.callers[id(function.node)]
    found: dict[str, Value] = {}
    for name, parameter in inline.enter(function, {}, None, frame).state.names.items():
        passed = [(arguments.get(name), caller) for arguments, caller in zip(calls, callers, strict=True)]
        belief = _shared(name, passed) if parameter.interval == TOP and parameter.belief is None else None
        if belief is not None and parameter.kind in NUMERIC:
            found[name] = replace(parameter, belief=belief)
    return found


def supposed_critical(function: FunctionInfo, frame: Frame) -> dict[str, Value]:
    """The critical parameters of which all calls, which stand in other files, pass what lies in a range."""
    found: dict[str, Value] = {}
    for name, interval, said in critical_passed(function, frame):
        parameter = inline.enter(function, {}, None, frame).state.names[name]
        if parameter.interval == TOP and parameter.belief is None and parameter.kind in NUMERIC:
            belief = Belief(interval, Attained.NONE, Attained.COINCIDENCE, (said,))
            found[name] = replace(parameter, belief=belief)
    return found


def _shared(name: str, passed: Sequence[tuple[Value | None, Caller]]) -> Belief | None:
    """Where an argument lies in all calls, as each of its callers knows it; None where that is anywhere."""
    given = [(value, State(facts=caller.facts)) for value, caller in passed if value is not None]
    if len(given) < len(passed) or any(v.kind not in NUMERIC for v, _ in given):
        return None
    interval = reduce(Interval.join, (state.believed(value) for value, state in given))
    if interval == TOP or any(believed(value).zero >= Attained.SATURATION for value, _ in given):
        return None
    rests = dict.fromkeys(s for value, _ in given if value.belief is not None for s in value.belief.on)
    said = Assumption(f"{name} is what this file passes")
    return Belief(interval, Attained.NONE, Attained.COINCIDENCE, (said, *rests))


def suppose_tested(receiver: Value, callers: Sequence[Caller], frame: Frame) -> None:
    """Believes of the attributes of `self` what all calls in sight have tested of them before."""
    known = State()
    hand_over(list(callers), known)
    if not known.facts:
        return
    for attr in receiver.data[1].settled():
        key = frame.graph.part("attribute", receiver.key, attr)
        tested = known.facts.get(key)
        if tested is not None:
            value = Value("attribute", key, Kind.UNKNOWN, {"input": receiver}, module=frame.module, name=attr)
            said = Assumption(
                f"self.{attr} is tested before {frame.function.name if frame.function else ''}()"
            )
            value.belief = Belief(tested, Attained.NONE, Attained.COINCIDENCE, (said,))
            frame.state.attributes[receiver.key, attr] = value
