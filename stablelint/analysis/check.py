"""The static pass over one file: source in, findings out. Nothing is imported or executed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from types import MappingProxyType

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.analysis.files.opened import opened
from stablelint.analysis.files.passing import (
    asking,
    critical_of,
    of_some_object,
    passes_of,
    target_of,
)
from stablelint.analysis.files.project import Project
from stablelint.analysis.files.reading import names_handed_out
from stablelint.analysis.findings import diagnose, finish, of_one_change, taker
from stablelint.analysis.interpret.calls import inline
from stablelint.analysis.interpret.calls.callers import suppose_tested, supposed_arguments, supposed_critical
from stablelint.analysis.interpret.interpreter import INTERPRETER
from stablelint.analysis.interpret.objects import classes, lookup
from stablelint.analysis.matching.review import Index, Review, index_of
from stablelint.analysis.matching.roots import Root, Survey, leading_to, look, survey
from stablelint.analysis.values.state import Frame, Session, State, hand_over, ignore
from stablelint.analysis.values.value import Graph, Kind, Value, join
from stablelint.analysis.values.views import stripped
from stablelint.catalog.catalog import Catalog
from stablelint.diagnostic import (
    CALLED,
    NOTHING,
    Diagnostic,
    FileReport,
    Level,
    Passes,
    Position,
    Problem,
    Status,
    Texts,
    counting,
)
from stablelint.records import dataclass, field, replace
from stablelint.syntax.operations import having
from stablelint.syntax.precision import DEFAULT, FLOAT16, MIXED, shows_half
from stablelint.syntax.relevance import brings_torch, concerns, is_checked
from stablelint.syntax.signatures import defaults_of
from stablelint.syntax.source import SourceError

BUDGET = 200  # statements that the calls within one function may interpret
_FINAL_ACTIVATIONS = frozenset({"softmax", "sigmoid", "log_softmax"})  # what a classifier ends in
_LOSSES = having("loss")
_OTHERS = "other calls may pass something else, for which the rewrite would be wrong"
_NOTHING_PASSED: Mapping[str, Value] = MappingProxyType({})


class AbandonedError(Exception):
    """Nobody waits for the answer any longer."""


@dataclass(frozen=True, slots=True)
class Focus:
    """What somebody waits for who types.

    Where `rows` are those of one function, its findings alone are wanted. An analysis that is `abandoned` raises
    AbandonedError before the next function.
    """

    rows: range | None = None
    abandoned: Callable[[], bool] = bool


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """`root` bounds which other files are read; `discharged` keeps what was proved, or is assumed, to be safe.

    Other files that are `edited`, by path, are read as if they held what stands there. A finding below `level` has its
    place and its message, but neither chain nor rewrites.
    """

    root: Path | None = None
    discharged: bool = False
    level: Level = Level.POSSIBLE
    edited: Texts = field(default_factory=dict)
    focus: Focus | None = None


def check_source(
    source: bytes, filename: str, catalog: Catalog, options: AnalysisOptions, received: Passes = NOTHING
) -> FileReport:
    """Every finding in a file, of both levels, in order of place; `received` holds what other files pass to it.

    What cannot be read or parsed is a problem in the report; nothing is raised.
    """
    if not is_checked(source):
        return replace(passes_in(source, filename, options.root), lines=source.count(b"\n"))
    try:
        with (
            opened(source, filename, options.root, received, options.edited) as (module, project),
            closing(_Analysis(module, project, index_of(catalog), options, shows_half(source))) as analysis,
        ):
            module.is_of_arrays = not brings_torch(source)
            return analysis.run()
    except SourceError as error:
        return FileReport(filename, problems=(error.problem,), lines=source.count(b"\n"))


def compile_patterns(catalog: Catalog) -> None:
    """Compiles the patterns of a catalog and loads its matchers, which the first file that is checked else does."""
    index_of(catalog)


def passes_in(source: bytes, filename: str, root: Path | None) -> FileReport:
    """What a file passes to others (`passes`, `consulted`), at a fraction of what an analysis costs."""
    if not concerns(source):
        return FileReport(filename)
    try:
        with opened(source, filename, root) as (module, project):
            look(module)
            passes = {
                **passes_of(module, module.sights.passing(), project),
                **critical_of(module, asking(module, project), NOTHING),
            }
            return FileReport(filename, passes=passes, consulted=project.consulted(()))
    except SourceError as error:
        return FileReport(filename, problems=(error.problem,))


class _Analysis:
    """One run over one file."""

    def __init__(
        self, module: ModuleInfo, project: Project, index: Index, options: AnalysisOptions, half_shown: bool
    ) -> None:
        self._module = module
        self._project = project
        self._index = index
        self._options = options
        self._focus = options.focus or Focus()
        self._half_shown = half_shown
        self._half_used = module.is_script and half_shown and ".half()" in module.source.text
        self._graph = Graph()
        self._diagnostics: list[Diagnostic] = []
        self._discharged: list[Diagnostic] = []
        self._counts: Counter[str] = Counter()
        self._assumed = 0
        self._problems: list[Problem] = []
        self._session = Session(ignore, project, INTERPRETER, home=module)
        if project.shows(DEFAULT) is not None:
            self._session.default_dtype = "float16"

    def close(self) -> None:
        """Parts what refers to each other, so that all of it is freed at once."""
        self._session.close()

    def run(self) -> FileReport:
        """Analyses the module body, then each function."""
        asking_for = partial(asking, self._module, self._project)
        seen = survey(self._module, self._index.needs, self._half_is_met, asking_for)
        self._guarded(partial(self._run_module, seen), 1)
        rows = self._focus.rows
        for root in seen.roots if rows is None else leading_to(rows, seen.roots):
            self._guarded(partial(self._run_root, root), root.function.node.lineno)
        filename = self._module.source.filename
        passed = {place: tuple(several) for place, several in self._session.passed.items()}
        passes = {
            **passes_of(self._module, self._module.sights.passing(), self._project),
            **critical_of(self._module, seen.asked, passed),
        }
        wanted = (d for d in self._diagnostics if rows is None or d.span.start.row in rows)
        unique = {(d.code, d.span, taker(d)): d for d in wanted}
        return FileReport(
            filename,
            tuple(of_one_change(sorted(unique.values(), key=lambda d: d.sort_key))),
            tuple(sorted(self._discharged, key=lambda d: d.sort_key)),
            problems=tuple(self._problems),
            lines=len(self._module.source.lines),
            discharge_counts=dict(sorted(self._counts.items())),
            assumed=self._assumed,
            consulted=self._project.consulted({path for d in unique.values() for path in d.elsewhere}),
            passes=passes,
            asks=frozenset(self._project.asked),
        )

    def _half_is_met(self) -> bool:
        """Whether the file shows half precision, or another of the project does."""
        shown = map(self._project.shows, (FLOAT16, MIXED))
        return self._half_shown or any(file is not None for file in shown)

    def _guarded(self, step: Callable[[], None], row: int) -> None:
        """Runs a step; one that exhausts the stack costs its own findings only."""
        if self._focus.abandoned():
            raise AbandonedError
        try:
            step()
        except RecursionError:
            message = "an expression is nested too deeply to be analysed"
            self._problems.append(Problem(message, self._module.source.filename, Position(row, 1)))
            self._session.running = []

    def _run_module(self, seen: Survey) -> None:
        """Runs the body of the file, for the names that it binds if nothing else."""
        frame = Frame(self._graph, self._module, None, State(), self._session, reporting=seen.body_tells)
        frame.cost = 0
        review = self._begin(seen.words, frame, of_body=True)
        INTERPRETER.execute(self._module.source.tree.body, frame)
        for name, value in frame.state.names.items():
            self._session.globals.setdefault((id(self._module), name), lookup.settled(name, value, frame))
        self._end(review)

    def _run_root(self, root: Root) -> None:
        """Looks at a function, and again at one that others may call for what its calls in sight pass."""
        self._look(root)
        if root.risky and not (self._is_seen_whole(root) and root.function.is_private):
            self._run_as_called(root)

    def _run_as_called(self, root: Root) -> None:
        """Looks again at a function that others may call, with the probabilities and losses that one of its calls passes.

        What goes wrong then, though not for any argument, is a finding without a rewrite: it would be one for all calls.
        """
        for passed in self._session.calls.get(id(root.function.node), []):
            telling = {n: v for n, v in passed.items() if _decides_loss(v)}
            if not telling:
                continue
            known, kept = {(d.code, d.span) for d in self._diagnostics}, len(self._diagnostics)
            before = self._discharged, self._counts, self._assumed
            self._discharged, self._counts = [], Counter()
            self._look(root, telling)
            found = [d for d in self._diagnostics[kept:] if d.status is Status.VIOLATED]
            self._discharged, self._counts, self._assumed = before
            self._diagnostics[kept:] = [
                replace(d, proposals=(), fix_withheld=_OTHERS) for d in found if (d.code, d.span) not in known
            ]
            break

    def _look(self, root: Root, passed: Mapping[str, Value] = _NOTHING_PASSED) -> None:
        """Analyses a function."""
        frame = self._entered(root, passed)
        review = self._begin(frozenset(root.seen.words), frame)
        if not root.risky:
            self._session.observe = ignore
        self._session.running = [id(root.function.node)]
        frame.idle = root.idle
        inline.execute_function(root.function, frame, root.ending)
        self._session.running = []
        self._run_nested(root, frame)
        if root.risky:
            self._end(review)

    def _entered(self, root: Root, passed: Mapping[str, Value]) -> Frame:
        """The frame in which a function's body runs."""
        function = root.function
        quiet = Frame(self._graph, self._module, None, State(), self._session)
        self._session.budget = BUDGET
        self._graph.arguments.clear()
        receiver = classes.self_of(function.owner, quiet) if function.owner is not None else None
        frame = inline.enter(function, {**self._arguments(root, quiet), **passed}, receiver, quiet)
        frame.depth, frame.reporting = 0, True
        callers = self._session.callers.get(id(function.node), [])
        ungraded = root.ungraded or (callers and not any(c.gradient for c in callers))
        felt = not (ungraded and function.is_private) or self._is_called_elsewhere(function)
        frame.state.gradient = function.records(felt) and not self._module.is_of_arrays
        if self._is_seen_whole(root):
            if function.is_private:
                hand_over(callers, frame.state)
            elif receiver is not None:
                suppose_tested(receiver, callers, frame)
        return frame

    def _run_nested(self, root: Root, outer: Frame) -> None:
        """Functions defined within a function: each once, with what surrounds it."""
        handed_out = names_handed_out(root.function.node) if root.nested else frozenset()
        for node in root.nested:
            info = FunctionInfo(node, self._module, None, outer, around=outer.function)
            self._session.closures.append(info)
            inner = inline.enter(info, self._arguments_within(info, root, outer), None, outer)
            inner.depth, inner.reporting = 0, True
            inner.state.gradient = info.records(outer.state.gradient or info.name in handed_out)
            self._session.running = [id(root.function.node), id(node)]
            inline.execute_function(info, inner)
            self._session.running = []

    def _arguments(self, root: Root, frame: Frame) -> dict[str, Value]:
        """What is passed, where every call site was seen; defaults that a caller may override otherwise."""
        settings = inline.settings(root.function, frame)
        if not self._is_seen_whole(root):
            is_called = root.references or root.function.owner is not None or root.function.wrapper
            return settings if is_called else supposed_critical(root.function, frame) | settings
        if root.function.is_private:
            return self._joined(root.function, self._session.calls[id(root.function.node)], frame)
        return supposed_arguments(root.function, frame) | settings if root.references else settings

    def _arguments_within(self, function: FunctionInfo, root: Root, outer: Frame) -> dict[str, Value]:
        """What is passed to a function defined within another: all of it where it is called there and nothing else."""
        seen, settings = self._session.calls.get(id(function.node), []), inline.settings(function, outer)
        if seen and not function.wrapper and len(seen) >= root.seen.loads.get(function.name, math.inf):
            return settings | _joined(self._graph, seen)
        return supposed_arguments(function, outer) | settings if seen else settings

    def _joined(self, function: FunctionInfo, seen: list[dict[str, Value]], frame: Frame) -> dict[str, Value]:
        """What the calls of a function pass, defaults where they leave a parameter out."""
        defaults = {p.arg: inline.left_out(function, p, d, frame) for p, d in defaults_of(function.node)}
        return _joined(self._graph, [defaults | arguments for arguments in seen])

    def _is_seen_whole(self, root: Root) -> bool:
        """Whether every call of a function was seen before its body, and passes what the body gets."""
        seen = self._session.calls.get(id(root.function.node), [])
        known = root.local and bool(seen) and len(seen) >= root.references and not root.function.wrapper
        return known and not self._is_called_elsewhere(root.function)

    def _is_called_elsewhere(self, function: FunctionInfo) -> bool:
        """Whether another file calls a private function, or a method of that name of some object."""
        passed, named = self._project.passed_to, (of_some_object(function.name), CALLED)
        by_name = passed(*named) if function.owner is not None else ()
        counts = counting(named, by_name, str(self._module.path))
        return bool(passed(target_of(function), CALLED)) or bool(counts)

    def _begin(self, words: frozenset[str], frame: Frame, of_body: bool = False) -> Review:
        shown, used = self._half_shown, self._half_used
        review = Review(self._module, self._index, shown, frame, used, of_body, words)
        self._session.observe = review.observe
        self._session.budget = BUDGET
        return review

    def _end(self, review: Review) -> None:
        self._session.observe = ignore
        found, proved = finish(review, self._options.level)
        self._diagnostics.extend(found)
        assumed = [site for site in proved if site.judgement.status is Status.ASSUMED]
        self._assumed += len(assumed)
        self._counts.update(site.judgement.by or "range" for site in proved if site not in assumed)
        if self._options.discharged:
            self._discharged.extend(map(diagnose, proved))


def _decides_loss(value: Value) -> bool:
    """Whether an argument is what a classifier ends in, or a module that is a loss."""
    return stripped(value).op in _FINAL_ACTIVATIONS or (
        value.kind is Kind.LAYER and getattr(value.data, "operation", None) in _LOSSES
    )


def _joined(graph: Graph, seen: list[dict[str, Value]]) -> dict[str, Value]:
    names = set.intersection(*(set(arguments) for arguments in seen))
    return {name: _as_passed(join(graph, [arguments[name] for arguments in seen])) for name in names}


def _as_passed(value: Value) -> Value:
    """What callers pass to choose a mode is their choice of today: the other modes are looked at, too."""
    return replace(value, assumed=True) if value.kind is Kind.STRING and value.is_constant else value
