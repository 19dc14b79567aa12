"""Calls of functions whose source was read: the body is interpreted with the arguments' values.

What a call yields is remembered by function and argument keys; depth and a budget of statements bound the work, and
past them a result is unknown, never wrong.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Mapping
from dataclasses import replace

from stablelint.analysis.files.callsites import numbers_passed
from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.calls.elsewhere import (
    note_critical,
    numbers_passed_elsewhere,
    observe_beyond,
)
from stablelint.analysis.interpret.paths import contexts
from stablelint.analysis.interpret.paths.narrowing import open_to_callers, opened
from stablelint.analysis.interpret.statements.lending import let_write
from stablelint.analysis.interpret.statements.writing import STORED, forgotten, hand_back, replaced
from stablelint.analysis.values.annotations import annotated
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import HELD, Caller, Frame, State, hand_over, quiet_frame
from stablelint.analysis.values.value import NUMERIC, Attained, Kind, Value, join, sized
from stablelint.analysis.values.views import behind
from stablelint.numerics.formats import FORMATS
from stablelint.numerics.interval import BOOLEAN, TOP, Interval
from stablelint.syntax.names import is_name
from stablelint.syntax.signatures import defaults_of, parameters, placed
from stablelint.syntax.walk import nodes_below

MAX_DEPTH = 6
COST_ELSEWHERE = 6  # of a statement in another file
_COST_OF_CONSTRUCTION = 4  # of one in a constructor there, where few statements matter
_SHORT = 25  # statements of a method
_ALLOWANCE = 150  # of the budget, for a body that is run once for all calls
_RESERVED = 5  # of the budget that is left, the share that a function keeps to itself when it calls another
_CHOSEN = (Kind.FUNCTION, Kind.CLASS, Kind.NAMESPACE, Kind.LAYER)  # defaults that stand for themselves
_WRITABLE = frozenset({Kind.TENSOR, Kind.SEQUENCE, Kind.MAPPING})
_WHOLE = Interval(-math.inf, math.inf, True, True, integral=True)
# Statements of a function that may hand on what another file makes, though its own never names torch.
_SMALL = 3


def call_function(
    function: FunctionInfo,
    arguments: dict[str, Value] | list[Value],
    receiver: Value | None,
    node: ast.AST,
    frame: Frame,
    keywords: dict[str, Value] | None = None,
) -> Value:
    """The value of calling a function with positional and keyword arguments."""
    positional = arguments if isinstance(arguments, list) else []
    named = dict(arguments) if isinstance(arguments, dict) else {}
    named.update(keywords or {})
    bound = bind_call(function, positional, named, receiver, node, frame)
    if bound is None:
        return frame.graph.unknown(node=node)
    if frame.reporting and function.module is frame.session.home:
        frame.session.calls.setdefault(id(function.node), []).append(bound)
        frame.session.callers.setdefault(id(function.node), []).append(Caller.at(frame.state))
    elif frame.reporting and function.critical and function.owner is None:
        note_critical(function, bound, node, frame)
    if receiver is not None and receiver.key in frame.session.building:
        return _build(function, bound, receiver, node, frame)
    given = written_by(function, bound)
    result = _result_of(function, bound, given, receiver, node, frame)
    if function.outline.checks and id(node) not in frame.idle:
        _pass_check(function, bound, receiver, frame)
    unseen = [v for name, v in _seen_by(function, bound).items() if name in function.writes.difference(given)]
    let_write(function.name, unseen, frame, in_place=True)
    if function.wrapper or (function.remembers and result.kind in _WRITABLE):
        said = (
            f"{function.name}() by @{function.wrapper}"
            if function.wrapper
            else f"what {function.name}() yields"
        )
        result = opened(result, frame.graph.key("wrapped", result.key), said, frame)
    if result.kind is Kind.UNKNOWN and annotated(getattr(function.node, "returns", None))[0] is Kind.FOREIGN:
        return frame.graph.foreign(node)
    if function.module.sights.writes(function.name) and not _is_set_by_code(function):
        kind = result.kind if result.kind in STORED else Kind.UNKNOWN
        result = frame.graph.unknown(node=node, kind=kind)  # another function has taken its place
    return result


def _is_set_by_code(function: FunctionInfo) -> bool:
    """Whether a property has a setter, which runs where objects are given the attribute; the class is not given another."""
    owner, parts = function.owner, function.module.sights.parts
    has_setter = owner is not None and function.name in owner.setters
    return owner is not None and has_setter and not any(owner.name in seen.changed for seen, _, _ in parts)


def _further(
    function: FunctionInfo,
    positional: list[Value],
    keywords: Mapping[str, Value],
    node: ast.AST,
    frame: Frame,
) -> dict[str, Value]:
    """What `*args` and `**options` of a function hold, as far as a call shows what it passes."""
    signature, found = function.node.args, dict[str, Value]()
    names = [a.arg for a in placed(signature)]
    if signature.vararg is not None and all(v.op != "starred" for v in positional):
        further = positional[len(names) - takes_receiver(function) :]
        found[signature.vararg.arg] = frame.graph.sequence(further, node)
    if signature.kwarg is not None:
        own = {*names, *(a.arg for a in signature.kwonlyargs)}
        data: dict[object, Value] = {name: v for name, v in keywords.items() if name not in own}
        found[signature.kwarg.arg] = Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=node, data=data)
    return found


def _pass_check(
    function: FunctionInfo, bound: dict[str, Value], receiver: Value | None, frame: Frame
) -> None:
    """What holds of the arguments once a function has returned that raises where it does not.

    One that may return before it has looked is assumed not to.
    """
    inner = run_function(function, bound, receiver, frame)
    if inner is None or inner.state.dead:
        return
    if not inner.returns:
        hand_over([Caller.at(inner.state)], frame.state)
        return
    looks = Assumption(f"{function.name}() does not return before it has checked")
    told = inner.state.facts
    for value in (v for given in bound.values() for v in behind(given) if v.key in told):
        frame.state.suppose(value, told[value.key], (looks,))


def written_by(function: FunctionInfo, bound: Mapping[str, Value]) -> dict[str, Value]:
    """The tensors and containers among arguments, and around a nested function, that its body may change in place."""
    return _writable(function, _seen_by(function, bound)) if function.writes else {}


def _seen_by(function: FunctionInfo, bound: Mapping[str, Value]) -> dict[str, Value]:
    """What the names of a body stand for: its arguments, and what stands around a nested function."""
    around = function.closure.state.names if isinstance(function.closure, Frame) else {}
    return {**around, **function.given, **bound}


def _writable(function: FunctionInfo, names: Mapping[str, Value]) -> dict[str, Value]:
    """Those among values that a body may change in place, as far as a change would be known."""
    return {name: v for name, v in names.items() if name in function.writes and _is_writable(v)}


def _is_writable(value: Value) -> bool:
    """Whether a write in place would change what is known of a value."""
    return value.kind in _WRITABLE or (value.kind in STORED and value.interval != TOP)


def _result_of(
    function: FunctionInfo,
    bound: dict[str, Value],
    given: Mapping[str, Value],
    receiver: Value | None,
    node: ast.AST,
    frame: Frame,
) -> Value:
    """What a call yields, as it is remembered or interpreted; what it may write into is `given`."""
    memo: tuple[Hashable, ...] = (
        id(function.node),
        receiver.key if receiver else 0,
        *(v.key for v in bound.values()),
    )
    if isinstance(function.closure, Frame):
        memo = (*memo, *(v.key for v in function.closure.state.names.values()))
    memo = (*memo, *frame.state.shared())
    known = frame.session.memo.get(memo)
    if known is not None:
        return known
    if not given and not _is_telling(function):
        if function.outline.returns or function.outline.generator:
            return frame.graph.unknown(node=node)
        return frame.graph.constant(None, node)
    since, cut_off = frame.graph.youngest, frame.session.cut_off
    inner = None if id(node) in frame.idle else run_function(function, bound, receiver, frame)
    _hand_back(inner, given, function, node, frame)
    if inner is None or frame.session.cut_off != cut_off:
        known = _in_general(function, bound, receiver, frame) if not given else None
        if inner is None or known is not None:
            return _anew(known, function, node, frame)
    result = join(frame.graph, inner.returns) if inner.returns else frame.graph.constant(None, node)
    if frame.reporting and not given and frame.session.is_elsewhere(function.module):
        observe_beyond(result, since, node, frame)
    if inner.wrote.isdisjoint(given) and frame.session.cut_off == cut_off:
        frame.session.memo[memo] = result
    return result


def _in_general(
    function: FunctionInfo, bound: Mapping[str, Value], receiver: Value | None, frame: Frame
) -> Value | None:
    """What a function yields for arguments of which nothing is known, found once for each object that has it.

    None where a call passes what has a default, or where objects are no longer as they were made.
    """
    session, own = frame.session, frame.receiver.key if frame.receiver is not None else 0
    passes = any(parameter.arg in bound for parameter, _ in defaults_of(function.node))
    if receiver is None or receiver.op != "instance" or passes or function.outline.statements > _SHORT:
        return None
    if function.closure is not None or any(key != own for key, _ in frame.state.attributes):
        return None
    place = (id(function.node), receiver.key, frame.state.gradient)
    if place not in session.general:
        session.general[place] = None  # of a function that calls itself
        quiet, cut_off = quiet_frame(function.module, frame), session.cut_off
        quiet.state.gradient = frame.state.gradient
        spent, session.budget = session.budget, _ALLOWANCE
        inner = run_function(function, {}, receiver, quiet)
        session.budget = spent
        if inner is not None and inner.returns and session.cut_off == cut_off:
            session.general[place] = join(frame.graph, inner.returns)
    return session.general[place] if frame.state.autocast is None else None


def _anew(known: Value | None, function: FunctionInfo, node: ast.AST, frame: Frame) -> Value:
    """A value that lies where another does, or a sequence of such, and is not known to be the same."""
    if known is not None and known.kind is Kind.SEQUENCE:
        return frame.graph.sequence([_anew(part, function, node, frame) for part in known.data], node)
    made = frame.graph.unknown(function.name, node)
    if known is None or known.kind not in NUMERIC or known.interval.nan:
        return made
    return replace(
        made, op=f"call.{function.name}", kind=known.kind, interval=known.interval, zero=known.zero, ends=known.ends,
        belief=known.belief,
    )  # fmt: skip


def _hand_back(
    inner: Frame | None, given: Mapping[str, Value], function: FunctionInfo, node: ast.AST, frame: Frame
) -> None:
    """Lets the caller know what a body has written into tensors and containers; into all of them where it was not run."""
    hand_back(inner, given, frame)
    if (
        inner is not None and function.closure is not frame
    ):  # what stands around it, somebody here may have by now
        hand_back(None, {name: v for name, v in given.items() if name not in inner.given}, frame)
    for name, value in given.items():
        if value.kind not in STORED and (inner is None or name in inner.wrote or name in function.changed):
            replaced(value, forgotten(value, node, frame), frame)


def _build(
    function: FunctionInfo, bound: dict[str, Value], receiver: Value, node: ast.AST, frame: Frame
) -> Value:
    """A method called while its object is constructed: what it sets is there from then on."""
    inner = run_function(function, bound, receiver, frame)
    if inner is None:
        return frame.graph.unknown(node=node)
    frame.state.attributes.update(
        {place: value for place, value in inner.state.attributes.items() if place[0] == receiver.key}
    )
    return join(frame.graph, inner.returns) if inner.returns else frame.graph.constant(None, node)


def _cost(function: FunctionInfo, frame: Frame) -> int:
    if not frame.session.is_elsewhere(function.module):
        return 1
    return _COST_OF_CONSTRUCTION if function.name == "__init__" else COST_ELSEWHERE


def _is_telling(function: FunctionInfo) -> bool:
    """Whether interpreting a call can tell anything of the value that it yields."""
    outline = function.outline
    if outline.generator or outline.textual or outline.dropped or not outline.returns:
        return False
    return function.module.mentions_torch or outline.statements <= _SMALL


def bind_call(
    function: FunctionInfo,
    positional: list[Value],
    keywords: dict[str, Value],
    receiver: Value | None,
    node: ast.AST,
    frame: Frame,
) -> dict[str, Value] | None:
    """`bind_arguments` of a call, which may hand on arguments that cannot be seen: `f(*args, **options)`."""
    unseen = isinstance(node, ast.Call) and (
        any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
    )
    seen = next((i for i, value in enumerate(positional) if value.op == "starred"), len(positional))
    bound = bind_arguments(function, positional[:seen] if unseen else positional, keywords, receiver)
    if bound is None:
        return None
    further = _further(function, positional, keywords, node, frame)
    return (settings(function, frame) if unseen else {}) | bound | further


def bind_arguments(
    function: FunctionInfo, positional: list[Value], keywords: dict[str, Value], receiver: Value | None
) -> dict[str, Value] | None:
    """Parameter names to values; None where the call does not fit (starred arguments, wrong count)."""
    arguments = function.node.args
    names = [a.arg for a in placed(arguments)]
    if takes_receiver(function):
        names = names[1:]
    if len(positional) > len(names) and arguments.vararg is None:
        return None
    bound = dict(zip(names, positional, strict=False))
    known = {*names, *(a.arg for a in arguments.kwonlyargs)}
    bound.update({k: v for k, v in keywords.items() if k in known})
    return bound


def takes_receiver(function: FunctionInfo) -> bool:
    """Whether the first parameter is `self` or `cls`."""
    return function.owner is not None and not function.has_decorator("staticmethod")


def run_function(
    function: FunctionInfo, arguments: dict[str, Value] | None, receiver: Value | None, frame: Frame
) -> Frame | None:
    """Interprets a body quietly; None where depth or budget forbids. No arguments: nobody is seen to call."""
    session = frame.session
    exhausted = frame.depth >= MAX_DEPTH or session.budget <= 0
    if exhausted or function.outline.dropped or id(function.node) in session.running:
        return None
    if arguments is None:
        arguments = settings(function, frame)
    inner = enter(function, arguments, receiver, frame)
    inner.state.gradient = function.records(frame.state.gradient)
    inner.state.take(frame.state)
    session.running.append(id(function.node))
    reserved = 0 if frame.reporting or session.building else session.budget // _RESERVED
    session.budget -= reserved
    try:
        execute_function(function, inner)
    finally:
        session.budget += reserved
        session.running.pop()
    return inner


def execute_function(function: FunctionInfo, inner: Frame, ending: int = 0) -> None:
    """Runs the body of a function, but for its last `ending` statements, or the expression of a lambda."""
    if isinstance(function.node, ast.Lambda):
        inner.returns.append(inner.session.interpreter.evaluate(function.node.body, inner))
        return
    inner.session.interpreter.execute(function.node.body[: len(function.node.body) - ending], inner)
    if inner.returns and not (inner.state.dead or ending):
        inner.returns.append(inner.graph.constant(None))  # what a body yields that comes to its end


def enter(function: FunctionInfo, arguments: dict[str, Value], receiver: Value | None, frame: Frame) -> Frame:
    """A frame in which the parameters are bound: to arguments, to the defaults of what is left out."""
    closure = function.closure if isinstance(function.closure, Frame) else None
    inner = Frame(
        frame.graph,
        function.module,
        function,
        State(),
        frame.session,
        frame.depth + 1,
        receiver=receiver,
        closure=closure,
        cost=_cost(function, frame),
    )
    contexts.decorate(function, inner)
    signature = function.node.args
    own = int(takes_receiver(function) and bool(placed(signature)))
    for parameter in placed(signature)[:own]:
        inner.state.names[parameter.arg] = receiver or frame.graph.unknown("self")
    defaults = {p.arg: default for p, default in defaults_of(function.node)}
    for parameter in parameters(signature)[own:]:
        value = arguments.get(parameter.arg) or function.given.get(parameter.arg)
        if value is None:
            value = left_out(function, parameter, defaults.get(parameter.arg), inner)
        inner.state.names[parameter.arg] = value
    for extra in (signature.vararg, signature.kwarg):
        if extra is not None:
            inner.state.names[extra.arg] = arguments.get(extra.arg) or frame.graph.unknown(extra.arg)
    if function.writes:
        inner.given = _writable(function, inner.state.names)
        inner.state.names.update({HELD + name: value for name, value in inner.given.items()})
    return inner


def settings(function: FunctionInfo, frame: Frame) -> dict[str, Value]:
    """What the parameters that have a default stand for where nobody is seen to call: a caller may pass anything."""
    inner = quiet_frame(function.module, frame)
    return {p.arg: _setting(function, p, default, inner) for p, default in function.defaults}


def setting(function: FunctionInfo, name: str, frame: Frame) -> Value | None:
    """What one of them stands for."""
    inner = quiet_frame(function.module, frame)
    known = ((p, default) for p, default in function.defaults if p.arg == name)
    return next((_setting(function, p, default, inner) for p, default in known), None)


def _setting(function: FunctionInfo, parameter: ast.arg, default: ast.expr, frame: Frame) -> Value:
    known = _evaluated(default, frame)
    if _is_number(known) or (known.is_constant and isinstance(known.data, str)):
        passed = numbers_passed(function, parameter.arg) if known.kind is Kind.NUMBER else []
        key = frame.graph.key("setting", id(function.node), parameter.arg)
        made = frame.graph.constant(known.data, parameter)
        made.module = frame.module
        beyond = numbers_passed_elsewhere(function, parameter.arg, frame) if known.kind is Kind.NUMBER else []
        said = f"{parameter.arg}={ast.unparse(default)}"
        return open_to_callers(made, key, said, passed, parameter.arg, beyond)
    if known.kind is Kind.SEQUENCE and known.name != "list" and all(_is_number(v) for v in known.data):
        said = f"{parameter.arg}={ast.unparse(default)}"
        key = frame.graph.key("setting", id(function.node), parameter.arg)
        parts = [(frame.graph.key("part", key, i), v) for i, v in enumerate(known.data)]
        passed = None if numbers_passed(function, parameter.arg) != [] else []
        return frame.graph.sequence([open_to_callers(v, k, said, passed) for k, v in parts], parameter)
    if known.kind in _CHOSEN:
        return replace(known, assumed=True)
    return _unbound(function, parameter, frame)


def _is_number(value: Value) -> bool:
    return value.is_constant and isinstance(value.data, int | float) and not isinstance(value.data, bool)


def _evaluated(default: ast.expr, frame: Frame) -> Value:
    """A default; a constant, most often, for which no frame is needed."""
    if type(default) is ast.Constant:
        return frame.graph.constant(default.value, default)
    return frame.session.interpreter.evaluate(default, frame)


def _unbound(function: FunctionInfo, parameter: ast.arg, frame: Frame) -> Value:
    """A parameter of which no more is known than its annotation says."""
    key = frame.graph.key("argument", id(function.node), parameter.arg)
    frame.graph.arguments.add(key)
    kind, dtype = annotated(parameter.annotation)
    if dtype is not None and _asks_type(function, parameter.arg):
        dtype = None
    value = Value(
        "argument", key, kind, dtype=dtype, node=parameter, module=frame.module, data=function, name=parameter.arg
    )  # fmt: skip
    if dtype == "bool":
        value.interval, value.zero, value.ends = BOOLEAN, Attained.EXACT, Attained.EXACT
    elif dtype is not None and dtype not in FORMATS:
        value.interval = _WHOLE
    annotation = parameter.annotation
    return sized(value, parameter.arg) if is_name(annotation, "int") else value


def _asks_type(function: FunctionInfo, parameter: str) -> bool:
    """Whether a function tests the element type of a parameter: it takes others than its annotation names."""
    sides = (
        side for test in nodes_below(function.node, ast.Compare) for side in (test.left, *test.comparators)
    )
    asked = (side.value for side in sides if isinstance(side, ast.Attribute) and side.attr == "dtype")
    return any(is_name(one, parameter) for one in asked)


def left_out(function: FunctionInfo, parameter: ast.arg, default: ast.expr | None, frame: Frame) -> Value:
    """A parameter that a call leaves out: its default."""
    if default is None:
        return _unbound(function, parameter, frame)
    known = _evaluated(default, quiet_frame(function.module, frame))
    if known.op == "const":
        made = frame.graph.constant(known.data, parameter)
        made.name, made.module = parameter.arg, function.module
        return made
    return known if known.kind in _CHOSEN else _unbound(function, parameter, frame)
