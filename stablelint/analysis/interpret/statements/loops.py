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
from stablelint.analysis.interpret.statements.carried import carried
from stablelint.analysis.interpret.statements.iteration import element_of, unrolled
from stablelint.analysis.interpret.statements.writing import forgotten, replaced, written_into
from stablelint.analysis.values.lists import is_list
from stablelint.analysis.values.merging import merge
from stablelint.analysis.values.paths import NEITHER, Assumption, Paths, Usual
from stablelint.analysis.values.state import Frame, State
from stablelint.analysis.values.value import NUMERIC, Kind, Value, belief_in, believed, join
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import TOP
from stablelint.syntax.walk import descendants
from stablelint.syntax.writes import names_written, written_name

Execute = Callable[[list[ast.stmt], Frame], None]

_MAX_NESTED_LOOPS = 2
_MOST_TURNS = 6  # an end of an interval is widened twice at most
_CONTAINERS = frozenset({Kind.SEQUENCE, Kind.MAPPING})
_HELD = frozenset({Kind.SEQUENCE, Kind.TENSOR})  # whose numbers a call may change
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
        frame.session.budget += 200 if reporting else 0
        frame.reporting = False
        returns = len(frame.returns)
        frame.state = _settled(before, body, changed, enter, frame, execute)
        del frame.returns[returns:]
        frame.reporting = reporting
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
        elif held is not None and (held.kind in _CONTAINERS or is_list(held)):
            replaced(held, forgotten(held, node, frame), frame)


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


def _settled(
    before: State,
    body: list[ast.stmt],
    changed: set[str],
    enter: Callable[[], None],
    frame: Frame,
    execute: Execute,
) -> State:
    """The state at the head of every turn: turns are run until one leaves no more than stood at its head.

    Of what still grows after some turns nothing is known, nor of what a turn changes that comes to no end.
    """
    head, budget, cut_off = before, frame.session.budget, frame.session.cut_off
    widened: set[int] = set()  # the keys of what stands for any turn
    for turn in range(_MOST_TURNS):
        frame.session.budget = max(budget, frame.session.budget)
        frame.state = head.copy()
        enter()
        execute(body, frame)
        _meet(frame.breaks, frame)
        _meet(frame.continues, frame)
        frame.state.dead = False
        if frame.session.cut_off != cut_off:
            frame.state = before.copy()
            _forget(body, changed, frame)
            return frame.state
        names, attributes = _grown_state(head, frame.state, widened, frame)
        last, head = head, head.copy()
        for name in names:
            head.forget(last.names[name].key)
        head.names |= names
        head.attributes |= attributes
        if (turn and not names and not attributes) or (
            not turn and _is_settled(before, frame.state, body, changed)
        ):
            break
    else:
        head.names |= {name: frame.graph.unknown(name) for name in names}
        head.attributes |= {place: frame.graph.unknown(place[1]) for place in attributes}
    return head


def _is_settled(before: State, after: State, body: list[ast.stmt], changed: set[str]) -> bool:
    """Whether the first turn tells of every later one: nothing is handed on but what is not known, or only grows."""
    written = changed | names_written(node for statement in body for node in descendants(statement))
    told = {
        name: before.names[name] for name in written & before.names.keys() if _is_numeric(before.names[name])
    }
    told |= {f".{name}": value for (_, name), value in before.attributes.items() if _is_numeric(value)}
    held = {name: value for name, value in before.names.items() if value.kind in _HELD and _is_numeric(value)}
    if any(name not in written and after.names.get(name) is not value for name, value in held.items()):
        return False  # a call has written into it
    if not told and not held:
        return True
    handed = carried(body)
    calls = (n.func for statement in body for n in descendants(statement) if isinstance(n, ast.Call))
    is_closure = any(isinstance(func, ast.Name) and func.id in before.names for func in calls)
    if held and (handed.calls or is_closure):
        return False
    if not handed.other.isdisjoint(told):
        return False
    return all(_only_grows(told[name], after.names.get(name)) for name in handed.added & told.keys())


def _is_numeric(value: Value) -> bool:
    """Whether something is known of a value that another turn may leave less of."""
    if value.kind is Kind.SEQUENCE:
        return any(map(_is_numeric, value.data))
    return value.kind is Kind.NONE or (
        value.kind in NUMERIC and (value.interval != TOP or value.belief is not None)
    )


def _only_grows(old: Value, new: Value | None) -> bool:
    return new is not None and new.interval.lo >= old.interval.lo >= 0 and new.belief is old.belief is None


def _grown_state(
    head: State, after: State, widened: set[int], frame: Frame
) -> tuple[dict[str, Value], dict[tuple[int, str], Value]]:
    """The names and attributes of which a turn leaves more than stood at its head, with what stands there then."""
    names, attributes = {}, {}
    for name, old in head.names.items():
        left = after.names.get(name)
        if left is not None and not _holds(old, left, widened, frame.graph.optional):
            names[name] = _grown(old, left, widened, frame)
    for place, left in after.attributes.items():
        stood = head.attributes.get(place)
        if stood is None:  # not assigned before the loop
            kind = left.kind if left.kind in (Kind.TENSOR, Kind.NUMBER) else Kind.UNKNOWN
            attributes[place] = frame.graph.unknown(left.name, left.node, kind)
            widened.add(attributes[place].key)
        elif not _holds(stood, left, widened, frame.graph.optional):
            attributes[place] = _grown(stood, left, widened, frame)
    return names, attributes


def _holds(old: Value, new: Value, widened: set[int], optional: set[int]) -> bool:
    """Whether what a turn leaves lies within what stood at its head."""
    if old.key == new.key:
        return True
    if _are_alike(old, new):
        return all(_holds(o, n, widened, optional) for o, n in zip(old.data, new.data, strict=True))
    if old.key not in widened:
        return False
    if new.kind is Kind.NONE:
        return old.key in optional
    return old.kind not in NUMERIC or (
        old.interval.join(new.interval) == old.interval
        and believed(old).interval.join(believed(new).interval) == believed(old).interval
        and old.dtype in (None, new.dtype)
    )


def _grown(old: Value, new: Value, widened: set[int], frame: Frame) -> Value:
    """What stands at the head of a turn where another turn has left `new` in place of `old`: widened."""
    if _are_alike(old, new):
        pairs = zip(old.data, new.data, strict=True)
        parts = [
            o if _holds(o, n, widened, frame.graph.optional) else _grown(o, n, widened, frame)
            for o, n in pairs
        ]
        return frame.graph.sequence(parts, new.node)
    value = _any_turn(old, new, frame)
    widened.add(value.key)
    return value


def _are_alike(old: Value, new: Value) -> bool:
    return old.kind is new.kind is Kind.SEQUENCE and len(old.data) == len(new.data)


def _any_turn(old: Value, new: Value, frame: Frame) -> Value:
    joined = join(frame.graph, [old, new])
    if old.kind is new.kind is Kind.LAYER:
        return layers.summed(old, new, frame) or joined
    if joined.kind not in NUMERIC:
        return joined
    turns, interval, zero = {"before": old, "turn": new}, old.interval.widen(joined.interval), joined.zero
    if _starts_at_zero(old):
        zero = new.zero
    if old.kind is Kind.NONE:  # only the next turn tells how it grows
        turns, interval = {"turn": new}, joined.interval
    value = Value(
        "phi", frame.graph.fresh(), joined.kind, turns, interval, zero,
        joined.ends, joined.dtype, joined.node, joined.module, guard=joined.guard,
    )  # fmt: skip
    if old.belief is not None or new.belief is not None:
        interval = believed(old).interval.widen(believed(old).interval.join(believed(new).interval))
        value.belief = belief_in(interval, zero, value.ends, value, (old, new))
    if Kind.NONE in (old.kind, new.kind) or {old.key, new.key} & frame.graph.optional:
        frame.graph.optional.add(value.key)
    return value


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
