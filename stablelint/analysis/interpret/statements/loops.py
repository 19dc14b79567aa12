"""Loops: a body is run as often as it takes to see what one turn leaves to the next."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from stablelint.analysis.files.handing import given_away, handed_on, names_handed_on
from stablelint.analysis.files.reading import sources_of
from stablelint.analysis.interpret.expressions import evaluate, evaluate_test, wait
from stablelint.analysis.interpret.objects.classes import let_run
from stablelint.analysis.interpret.operations import layers
from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.statements.assignment import bind
from stablelint.analysis.interpret.statements.iteration import element_of, unrolled
from stablelint.analysis.interpret.statements.writing import written_into
from stablelint.analysis.values.merging import merge
from stablelint.analysis.values.paths import NEITHER, Assumption, Paths, Usual
from stablelint.analysis.values.state import Frame, State
from stablelint.analysis.values.value import NUMERIC, Kind, Value, belief_in, believed, join
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import TOP
from stablelint.syntax.walk import descendants
from stablelint.syntax.writes import written_name

Execute = Callable[[list[ast.stmt], Frame], None]

_MAX_NESTED_LOOPS = 2
_CONTAINERS = frozenset({Kind.SEQUENCE, Kind.MAPPING})
_UNROLLED = 60  # statements into which a loop over layers may be unrolled


def run_for(node: ast.For | ast.AsyncFor, frame: Frame, execute: Execute) -> None:
    """A `for` loop; one over known layers is unrolled."""
    iterable = evaluate(node.iter, frame)
    turns = unrolled(iterable, frame)
    if turns is not None and len(turns) * len(node.body) <= _UNROLLED:
        _turns(turns, node, frame, execute)
        return

    def enter() -> None:
        let_run(iterable, frame)
        if isinstance(node, ast.AsyncFor):
            wait((), frame)
        bind(node.target, element_of(iterable, node.target, frame), frame)

    def leave() -> None:
        execute(node.orelse, frame)

    _loop(node.body, enter, leave, frame, execute, _turn_of(iterable))


def _turn_of(iterable: Value) -> Usual | None:
    """What is believed of a loop over it: that there is a turn; None where there is one for sure."""
    iterable = stripped(iterable, ("python.enumerate", "python.zip", "progress"))
    if iterable.op != "python.range":
        named = iterable.name if "." not in iterable.op else ""  # of a call, the name is the function's
        return _believed_turn(f"{named or 'what is looped over'} is not empty")
    stop = iterable.operands.get("stop")
    if stop is None or "start" in iterable.operands or stop.interval.hi <= 0:
        return NEITHER
    return (
        None if stop.interval.lo > 0 else _believed_turn(f"{stop.name or 'what is counted to'} is positive")
    )


def _believed_turn(text: str) -> Usual:
    return Usual(False, (Assumption(text),), seldom=False)


def _turns(turns: list[Value], node: ast.For | ast.AsyncFor, frame: Frame, execute: Execute) -> None:
    """Runs the body once for each of a known row of layers."""
    saved = (frame.breaks, frame.continues)
    frame.breaks, frame.continues = [], []
    for turn in turns:
        bind(node.target, turn, frame)
        execute(node.body, frame)
        _meet(frame.continues, frame)
        if frame.state.dead:
            break
    execute(node.orelse, frame)
    _meet(frame.breaks, frame)
    frame.breaks, frame.continues = saved


def _meet(states: list[State], frame: Frame) -> None:
    """Merges the states that come together at this point; the list is emptied."""
    for state in states:
        frame.state = merge(frame.graph, frame.state, state, id(frame.function))
    states.clear()


def run_while(node: ast.While, frame: Frame, execute: Execute) -> None:
    """A `while` loop: its test holds within, and no longer behind it."""
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def enter() -> None:
        assume(evaluate_test(node.test, frame), True, frame.state)

    def leave() -> None:
        assume(evaluate_test(node.test, frame), False, frame.state)
        execute(node.orelse, frame)

    _loop(node.body, enter, leave, frame, execute, NEITHER, endless)


def _loop(
    body: list[ast.stmt],
    enter: Callable[[], None],
    leave: Callable[[], None],
    frame: Frame,
    execute: Execute,
    turn: Usual | None,
    endless: bool = False,
) -> None:
    """Runs a body as often as it takes to see what one turn leaves to the next, then once more to report.

    `turn` tells whether there is one; what is `endless` is left by a break alone, and all else by `leave` otherwise.
    """
    before = frame.state.copy()
    saved = (frame.breaks, frame.continues)
    frame.breaks, frame.continues = [], []
    frame.loop_depth += 1
    reporting = frame.reporting
    changed = _assigned_names(body)
    if frame.loop_depth <= _MAX_NESTED_LOOPS and not _leaves_something(body, changed, frame):
        frame.session.budget += 200 if reporting else 0
    elif frame.loop_depth <= _MAX_NESTED_LOOPS:
        frame.reporting = False
        returns = len(frame.returns)
        frame.session.budget += 200 if reporting else 0
        enter()
        execute(body, frame)
        del frame.returns[returns:]
        frame.reporting = reporting
        _meet(frame.breaks, frame)
        _meet(frame.continues, frame)
        frame.state.dead = False
        frame.state = _widened(before, frame.state, frame)
    else:
        _forget(body, changed, frame)
    settled = frame.state.copy()
    enter()
    execute(body, frame)
    if endless:
        frame.state = State(dead=True)
    else:
        _meet(frame.continues, frame)
        after = frame.state
        after.dead = after.dead and bool(frame.breaks)
        if turn is not None:
            frame.state = merge(frame.graph, settled, after, id(frame.function))
            _forget_start(before, after, turn, frame)
        leave()
    _meet(frame.breaks, frame)
    frame.breaks, frame.continues = saved
    frame.loop_depth -= 1


def _forget(body: list[ast.stmt], changed: set[str], frame: Frame) -> None:
    """Takes all that is known from what a body may change, without a run of it."""
    for name in changed:
        frame.state.names[name] = frame.graph.unknown(name)
    for node in (n for s in body for n in descendants(s)):
        if type(node) is ast.Attribute and type(node.ctx) is ast.Store:
            bind(node, frame.graph.unknown(node.attr, node), frame)
        held = frame.state.names.get(written_name(node))
        if held is not None and held.kind is Kind.TENSOR:
            written_into(held, frame.graph.unknown(held.name, node, Kind.TENSOR), frame)


def _leaves_something(body: list[ast.stmt], changed: set[str], frame: Frame) -> bool:
    """Whether a turn can leave anything to the next: what it changes is known before the loop."""
    before = frame.state
    if not changed.isdisjoint(before.names):
        return True
    nodes = [n for s in body for n in descendants(s)]
    return any(_may_change(n, before) for n in nodes) or _hands_on(nodes, before, frame)


def _hands_on(nodes: list[ast.AST], before: State, frame: Frame) -> bool:
    """Whether a body calls a function that may write into something of which something is known before."""
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    named = frame.function.named if frame.function is not None else frame.module.named
    names = names_handed_on(handed_on(calls, named, {}))
    away = given_away(calls, frame.module.imports, frame.module.classes)
    names |= {name for argument in away for name in sources_of(argument)}
    return any(_is_told(before.names.get(name), before) for name in names)


def _may_change(node: ast.AST, before: State) -> bool:
    """Whether a node may write into a value of which something is known, or into an attribute."""
    if type(node) is ast.Attribute:
        return type(node.ctx) is not ast.Load and bool(before.attributes or before.facts or before.supposed)
    if type(node) is ast.Call and type(node.func) is ast.Attribute:
        own = type(node.func.value) is ast.Name and node.func.value.id == "self"
        if before.attributes or ((before.facts or before.supposed) and own):
            return True
    elif type(node) not in (ast.Subscript, ast.keyword):
        return False
    return _is_told(before.names.get(written_name(node)), before)


def _is_told(held: Value | None, before: State) -> bool:
    """Whether something is known of what a name stands for."""
    return held is not None and (held.interval != TOP or before.knows(held.key) or held.kind in _CONTAINERS)


def _assigned_names(body: list[ast.stmt]) -> set[str]:
    nodes = (n for s in body for n in descendants(s))
    return {n.id for n in nodes if type(n) is ast.Name and type(n.ctx) is ast.Store}


def _widened(before: State, after: State, frame: Frame) -> State:
    """The state at the head of a loop: what a turn changes is widened."""
    head = before.copy()
    for name, old in before.names.items():
        new = after.names.get(name)
        if new is None or old.key == new.key:
            continue
        joined = join(frame.graph, [old, new])
        if old.kind is new.kind is Kind.LAYER:
            joined = layers.summed(old, new, frame) or joined
        if joined.kind in NUMERIC:
            turns = {"before": old, "turn": new}
            zero = new.zero if _starts_at_zero(old) else joined.zero
            joined = Value(
                "phi", frame.graph.fresh(), joined.kind, turns, old.interval.widen(joined.interval), zero,
                joined.ends, joined.dtype, joined.node, joined.module, guard=joined.guard,
            )  # fmt: skip
            if old.belief is not None or new.belief is not None:
                interval = believed(old).interval.widen(believed(old).interval.join(believed(new).interval))
                joined.belief = belief_in(interval, zero, joined.ends, joined, (old, new))
        head.names[name] = joined
        head.forget(old.key)
    for place, value in after.attributes.items():
        head.attributes[place] = _widened_attribute(before.attributes.get(place), value, frame)
    return head


def _widened_attribute(old: Value | None, new: Value, frame: Frame) -> Value:
    """What an attribute holds at the head of a loop; `old` is None where it was not assigned before."""
    if old is None:
        kind = new.kind if new.kind in (Kind.TENSOR, Kind.NUMBER) else Kind.UNKNOWN
        return frame.graph.unknown(new.name, new.node, kind)
    if old.key == new.key:
        return old
    grown = layers.summed(old, new, frame) if old.kind is new.kind is Kind.LAYER else None
    return grown or join(frame.graph, [old, new])


def _forget_start(before: State, after: State, turn: Usual, frame: Frame) -> None:
    """After a loop an accumulator is 0 only where its terms are: a loop without a turn is not held against it."""
    paths = Paths(id(frame.function), ({}, {}), *turn.places)
    for name, value in frame.state.names.items():
        start, end = before.names.get(name), after.names.get(name)
        if start is not None and end is not None and start.key != end.key and _starts_at_zero(start):
            if value.op == "phi":
                left = join(frame.graph, [start, end], paths)
                frame.state.names[name] = replace(left, zero=min(value.zero, end.zero))


def _starts_at_zero(value: Value) -> bool:
    """The start of an accumulator: it is 0 only where the loop has no turn."""
    return value.is_constant or value.op in ("zeros", "zeros_like", "tensor")
