"""Where the value of each expression of a file lies: what an editor tells at the cursor.

The functions of the file, or those on the rows that are asked about, are interpreted as a check interprets them, but
each for any arguments, and every expression is looked at rather than the operations that a rule names. The one seam to
the interpreter is `_watched`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stablelint.analysis.check import BUDGET
from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.analysis.files.opened import opened
from stablelint.analysis.files.reading import FunctionNode
from stablelint.analysis.interpret import expressions
from stablelint.analysis.interpret.calls import inline
from stablelint.analysis.interpret.interpreter import INTERPRETER
from stablelint.analysis.interpret.objects import classes
from stablelint.analysis.interpret.statements.execution import execute
from stablelint.analysis.matching.derivation import describe
from stablelint.analysis.matching.roots import look
from stablelint.analysis.proof.judge import differentiable
from stablelint.analysis.values.state import Frame, Session, State, ignore
from stablelint.analysis.values.value import NUMERIC, Graph, Value
from stablelint.diagnostic import Position, Span
from stablelint.numerics.interval import TOP, Interval
from stablelint.records import dataclass, replace
from stablelint.syntax.source import SourceError
from stablelint.syntax.walk import descendants, nodes_in

_BUDGET = 4 * BUDGET  # statements: few functions are looked at together
_FUNCTIONS: tuple[type[Any], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
Evaluated = Callable[[ast.expr, Value, Frame], None]


@dataclass(frozen=True, slots=True)
class RangeAt:
    """What is known of the value of one expression, over every way that leads to it.

    `because` retells what bounds it, in one clause, where something does; `guard` names the operation that
    narrowed it ("clamp", "branch"). `gradient` tells whether a gradient can flow back through it.
    """

    span: Span
    interval: Interval
    kind: str  # "tensor", "number" or "unknown"
    dtype: str | None
    because: str | None
    guard: str | None
    gradient: bool

    @property
    def is_bounded(self) -> bool:
        """Whether anything is known of the range."""
        return self.interval != TOP


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of a file: of its expressions, and of the names that its assignments bind."""

    expressions: Mapping[Span, RangeAt]
    bound: Mapping[Span, RangeAt]  # by the place of the name on the left

    def at(self, place: Position) -> RangeAt | None:
        """The range of the smallest expression, or bound name, around a place."""
        here = Span(place, Position(place.row, place.column + 1))
        known = (*self.expressions.values(), *self.bound.values())
        around = [item for item in known if item.span.contains(here)]
        return min(around, key=lambda item: item.span.extent, default=None)


def ranges_at(source: bytes, filename: str, root: Path | None = None, rows: range | None = None) -> Ranges:
    """The ranges of a file's text, which is read and never run; none where it does not parse.

    Of the functions, only those that stand on one of the `rows`, where they are given.
    """
    seen: dict[Span, RangeAt] = {}
    try:
        with opened(source, filename, root) as (module, project):
            look(module)
            session = Session(observe=ignore, interpreter=INTERPRETER, project=project, home=module)
            with closing(session), _watched(_Recorder(module, seen)):
                for body in _bodies(module, session, rows):
                    body()
            return Ranges(seen, dict(_bound(module, seen)))
    except SourceError:
        return Ranges({}, {})


class _Recorder:
    """Notes the value of each expression of the file itself, joined over the paths that evaluate it."""

    def __init__(self, module: ModuleInfo, seen: dict[Span, RangeAt]) -> None:
        self._module = module
        self._seen = seen

    def __call__(self, node: ast.expr, value: Value, frame: Frame) -> None:
        if not frame.reporting or frame.module is not self._module or isinstance(node, ast.Constant):
            return
        if value.kind not in NUMERIC:
            return
        span = self._module.source.span(node)
        interval = frame.state.effective(value)
        because = describe(value)
        if because is not None and because.startswith(f"`{self._module.source.segment(node)}` lies"):
            because = None  # which the range itself tells
        known = RangeAt(
            span,
            interval,
            value.kind.value,
            value.dtype,
            because,
            "branch" if interval != value.interval else value.guard,
            differentiable(value, frame.state.gradient),
        )
        before = self._seen.get(span)
        self._seen[span] = known if before is None else _either(before, known)


def _either(one: RangeAt, other: RangeAt) -> RangeAt:
    joined = one.interval.join(other.interval)
    of = one if joined == one.interval else other
    return replace(
        of,
        interval=joined,
        dtype=one.dtype if one.dtype == other.dtype else None,
        because=of.because if joined == of.interval else None,
        gradient=one.gradient or other.gradient,
    )


@contextmanager
def _watched(evaluated: Evaluated) -> Iterator[None]:
    """Shows every expression that is evaluated; one file at a time, since the handlers are the interpreter's own."""
    handlers = expressions._HANDLERS
    own = dict(handlers)
    try:
        handlers.update({kind: _showing(handler, evaluated) for kind, handler in own.items()})
        yield
    finally:
        handlers.update(own)


def _showing(
    handler: Callable[[ast.expr, Frame], Value], evaluated: Evaluated
) -> Callable[[ast.expr, Frame], Value]:
    def evaluate(node: ast.expr, frame: Frame) -> Value:
        value = handler(node, frame)
        evaluated(node, value, frame)
        return value

    return evaluate


def _bodies(module: ModuleInfo, session: Session, rows: range | None) -> Iterator[Callable[[], None]]:
    """The body of the file, then its functions on these rows; one that is nested too deeply costs itself only."""
    graph = Graph()

    def run_module() -> None:
        frame = Frame(graph, module, None, State(), session, reporting=True, cost=0)
        execute(module.source.tree.body, frame)
        for name, value in frame.state.names.items():
            session.globals.setdefault((id(module), name), value)

    def run_function(function: FunctionInfo, outer: Frame | None = None) -> None:
        session.budget = _BUDGET
        around = outer or Frame(graph, module, None, State(), session)
        receiver = classes.self_of(function.owner, around) if function.owner is not None else None
        frame = inline.enter(function, inline.settings(function, around), receiver, around)
        frame.depth, frame.reporting = 0, True
        frame.state.gradient = function.records(around.state.gradient)
        session.running = [id(function.node)]
        inline.execute_function(function, frame)
        for node in nodes_in(function.node, *_FUNCTIONS):
            inner = FunctionInfo(node, module, None, frame, around=frame.function)
            session.closures.append(inner)
            run_function(inner, frame)

    methods = (method for known in module.classes.values() for method in known.methods.values())
    yield _spared(run_module, session)
    for function in (*module.functions.values(), *methods):
        if rows is None or _stands_on(function.node, rows):
            yield _spared(lambda function=function: run_function(function), session)  # type: ignore[misc]


def _stands_on(function: FunctionNode, rows: range) -> bool:
    return function.lineno < rows.stop and rows.start <= (function.end_lineno or 0)


def _spared(step: Callable[[], None], session: Session) -> Callable[[], None]:
    def run() -> None:
        try:
            step()
        except RecursionError:
            session.running = []

    return run


def _bound(module: ModuleInfo, seen: Mapping[Span, RangeAt]) -> Iterator[tuple[Span, RangeAt]]:
    """Names on the left of an assignment, with the range of what stands on its right."""
    for node in descendants(module.source.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        known = seen.get(module.source.span(value))
        if known is not None and isinstance(target, ast.Name):
            span = module.source.span(target)
            yield span, replace(known, span=span)
