"""Comprehensions: their element is evaluated once, or for each of a few that are written out."""

from __future__ import annotations

import ast
from collections import Counter

from stablelint.analysis.files.reading import declared_names
from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.statements.assignment import bind
from stablelint.analysis.interpret.statements.iteration import element_of
from stablelint.analysis.interpret.statements.writing import STORED, written_into
from stablelint.analysis.values.lists import is_list
from stablelint.analysis.values.merging import merge
from stablelint.analysis.values.state import Frame, State
from stablelint.analysis.values.value import NUMERIC, Attained, Kind, Value
from stablelint.syntax.walk import descendants
from stablelint.syntax.writes import names_written

_WRITTEN_OUT = 8  # elements at most
# What takes all that a generator yields, or is done with it, before anything else is run.
_CONSUMING = frozenset(
    (
        "all any array cat dict frozenset fsum list max min next prod set sorted stack sum tensor tuple "
        "ModuleDict ModuleList ParameterList Sequential"
    ).split()
)
_FILLING = frozenset({"extend", "join", "update"})


def rejoin(before: State, frame: Frame) -> None:
    """What holds behind something that may have been left out."""
    after, frame.state = frame.state, before
    if after.names != before.names or after.attributes != before.attributes:
        frame.state = merge(frame.graph, before, after, id(frame.function))


def comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Value:
    """A list of unknown length, whose element is evaluated once; of each element where it is over a written tuple."""
    if isinstance(node, ast.GeneratorExp) and not _is_consumed(node, frame):
        return _consumed_later(node, frame)
    return _collected(node, frame)


def _is_consumed(node: ast.GeneratorExp, frame: Frame) -> bool:
    """Whether what a generator yields is taken where it stands."""
    statement = frame.statement
    calls = (n for n in descendants(statement) if isinstance(n, ast.Call)) if statement is not None else ()
    return any(node in call.args and _consumes(call.func, frame) for call in calls)


def _consumes(function: ast.expr, frame: Frame) -> bool:
    """Whether what is called is a function of Python's or a library's, or a method of a list or text, that takes all."""
    if any(isinstance(part, ast.Call) for part in ast.walk(function)):
        return False  # which is not made twice
    evaluate = frame.session.interpreter.evaluate
    if isinstance(function, ast.Attribute) and function.attr in _FILLING:
        holder = evaluate(function.value, frame)
        return is_list(holder) or holder.kind in (Kind.MAPPING, Kind.STRING)
    called = evaluate(function, frame)
    owner, _, name = called.data.rpartition(".") if called.kind is Kind.NAMESPACE else ("", "", "")
    return bool(owner) and name in _CONSUMING


def _consumed_later(node: ast.GeneratorExp, frame: Frame) -> Value:
    """What a generator yields that somebody takes later: by then, what its names stand for may be something else."""
    saved, reporting = frame.state, frame.reporting
    frame.reporting = False
    _collected(node, frame)  # for what it does to others
    after, frame.reporting = frame.state, reporting
    changing = _changing(frame)
    names = {n: _changed(n, v, frame) if n in changing else v for n, v in saved.names.items()}
    frame.state = State(names, gradient=saved.gradient, autocast=saved.autocast)
    try:
        return _collected(node, frame)
    finally:
        frame.state = after


def _changed(name: str, value: Value, frame: Frame) -> Value:
    """What a name stands for that may have changed: of an object, which one it is and what it holds is not known."""
    kind = value.kind if value.kind in STORED or value.kind is Kind.NUMBER else Kind.UNKNOWN
    return frame.graph.unknown(name, kind=kind)


def _changing(frame: Frame) -> set[str]:
    """The names that the body around does not bind just once, or whose tensors it may write into."""
    root = frame.module.source.tree if frame.function is None else frame.function.node
    nodes = list(descendants(root))
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound.update(n.arg for n in nodes if isinstance(n, ast.arg))
    written = names_written(nodes) if frame.function is None else frame.function.writes
    return {name for name, times in bound.items() if times > 1} | written | declared_names(root)


def _collected(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Value:
    """What a comprehension yields that is run at once."""
    saved = frame.state
    frame.state = saved.copy()
    _forget_changing(node, frame)
    filtered = _bind_generators(node.generators, frame)
    element = frame.session.interpreter.evaluate(node.elt, frame)
    if _looks_back(node):
        element = frame.graph.unknown(node=node.elt)
        turns = []
    else:
        turns = _turns(node, frame)
    elements = [_element_of_turn(node, turn, frame) for turn in turns]
    _leave_generators(node.generators, saved, frame)
    if elements:
        return frame.graph.sequence(elements, node)
    key = frame.graph.key("list_of", element.key, id(node))
    return Value(
        "list_of", key, Kind.UNKNOWN, {"element": element}, node=node, module=frame.module,
        zero=Attained.EXACT if filtered else Attained.COINCIDENCE,
    )  # fmt: skip


def _looks_back(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> bool:
    """Whether an element may read what the comprehension loops over later, when that is its last: `lambda: i`."""
    functions = [n for n in ast.walk(node.elt) if isinstance(n, ast.Lambda)]
    if not functions:
        return False
    read = {n.id for f in functions for n in ast.walk(f.body) if isinstance(n, ast.Name)}
    read -= {a.arg for f in functions for a in ast.walk(f.args) if isinstance(a, ast.arg)}
    return any(n.id in read for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))


def _turns(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> list[Value]:
    """What a comprehension loops over, one by one, where that is a short tuple or list that is written out."""
    generator = node.generators[0]
    written = isinstance(generator.iter, ast.Tuple | ast.List) and len(generator.iter.elts) <= _WRITTEN_OUT
    if not written or len(node.generators) > 1 or generator.ifs or isinstance(node, ast.SetComp):
        return []
    turns = frame.session.interpreter.evaluate(generator.iter, frame)
    return list(turns.data) if turns.kind is Kind.SEQUENCE else []


def _element_of_turn(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, turn: Value, frame: Frame) -> Value:
    """The element that one turn makes, of which nothing is told: the text is the same in all of them."""
    target, reporting = node.generators[0].target, frame.reporting
    if turn.kind in NUMERIC:
        turn = Value(
            "part", frame.graph.fresh(), turn.kind, {"input": turn}, frame.state.effective(turn), turn.zero, turn.ends,
            turn.dtype, target, frame.module, belief=turn.belief,
        )  # fmt: skip
    bind(target, turn, frame)
    frame.reporting = False
    try:
        return frame.session.interpreter.evaluate(node.elt, frame)
    finally:
        frame.reporting = reporting


def dict_comprehension(node: ast.DictComp, frame: Frame) -> Value:
    """A mapping of which nothing is known."""
    saved = frame.state
    frame.state = saved.copy()
    _forget_changing(node, frame)
    _bind_generators(node.generators, frame)
    frame.session.interpreter.evaluate(node.key, frame)
    frame.session.interpreter.evaluate(node.value, frame)
    _leave_generators(node.generators, saved, frame)
    return Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=node)


def _forget_changing(node: ast.expr, frame: Frame) -> None:
    """Takes what is known from names that an element leaves to the next one changed."""
    nodes = descendants(node)
    changing = names_written(nodes) | {n.target.id for n in nodes if isinstance(n, ast.NamedExpr)}
    for name in changing & frame.state.names.keys():
        held = frame.state.names[name]
        if held.kind is Kind.TENSOR:
            written_into(held, frame.graph.unknown(name, node, Kind.TENSOR), frame)
        frame.state.names[name] = frame.graph.unknown(
            name, node, held.kind if held.kind in STORED else Kind.UNKNOWN
        )


def _bind_generators(generators: list[ast.comprehension], frame: Frame) -> bool:
    filtered = False
    for generator in generators:
        iterable = frame.session.interpreter.evaluate(generator.iter, frame)
        bind(generator.target, element_of(iterable, generator.target, frame), frame)
        for test in generator.ifs:
            assume(frame.session.interpreter.evaluate(test, frame), True, frame.state)
            filtered = True
        filtered = filtered or (iterable.op == "list_of" and iterable.zero is Attained.EXACT)
    return filtered


def _leave_generators(generators: list[ast.comprehension], before: State, frame: Frame) -> None:
    """What holds behind a comprehension: what it loops over has its names for itself."""
    for target in (n for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)):
        frame.state.names.pop(target.id, None)
        if target.id in before.names:
            frame.state.names[target.id] = before.names[target.id]
    rejoin(before, frame)
