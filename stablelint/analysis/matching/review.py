"""What is seen in one function while the analysis runs over it: its operations, and the sites among them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.matching import predicates
from stablelint.analysis.matching.interest import (
    Matcher,
    Need,
    Words,
    matcher_named,
    met,
    needs_of,
    needs_of_matcher,
)
from stablelint.analysis.matching.pattern import Match, Shape, compile_pattern, match
from stablelint.analysis.matching.predicates import Context
from stablelint.analysis.matching.sites import Site, text_at
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.proof.judge import Judgement, asked_by, is_polluted, judge, overflowing
from stablelint.analysis.proof.replacement import Replacement, replacements
from stablelint.analysis.proof.uses import Users, users_of
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.relations.emptiness import is_empty_unless, is_empty_without
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.catalog.catalog import Catalog
from stablelint.catalog.predicates import parse_predicate
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass, field, replace
from stablelint.syntax import operations, precision
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_below


@dataclass(frozen=True, slots=True)
class Index:
    """The patterns of a catalog by the operation at their root, and the rules that no root finds."""

    by_operation: Mapping[str, tuple[tuple[Rule, Shape], ...]]
    sequences: tuple[tuple[Rule, Shape], ...]
    matchers: tuple[tuple[Rule, Matcher, tuple[tuple[Words, ...], ...]], ...]
    needs: tuple[Need, ...]

    def matchers_for(self, words: Words | None) -> Iterator[tuple[Rule, Matcher]]:
        """The matchers that can find something in a function with these words; all where they are not known."""
        for rule, matcher, rows in self.matchers:
            if words is None or not rows or any(met(row, words) for row in rows):
                yield rule, matcher


@lru_cache(maxsize=4)
def index_of(catalog: Catalog) -> Index:
    """The compiled patterns of a catalog."""
    by_operation: dict[str, list[tuple[Rule, Shape]]] = {}
    sequences: list[tuple[Rule, Shape]] = []
    matchers: list[tuple[Rule, Matcher, tuple[tuple[Words, ...], ...]]] = []
    needs: list[Need] = []
    for rule in catalog.rules.values():
        if rule.matcher is not None:
            matcher = matcher_named(rule.matcher)
            declared = needs_of_matcher(matcher)
            matchers.append((rule, matcher, tuple(need.within for need in declared)))
            needs.extend(declared)
            continue
        literals = _literals(rule)
        for text in rule.patterns:
            shape = compile_pattern(text, literals)
            needs.append(needs_of(shape, rule))
            if shape.is_sequence:
                sequences.append((rule, shape))
            else:
                by_operation.setdefault(shape.operation, []).append((rule, shape))
    table = {op: tuple(v) for op, v in by_operation.items()}
    return Index(table, tuple(sequences), tuple(matchers), tuple(needs))


def _literals(rule: Rule) -> set[str]:
    """The metavariables that a rule asks to be literals: of two factors, the other one is not tried for them."""
    asked = [parse_predicate(text) for text in rule.where]
    return {name for p in asked if p.name == "literal" and not p.negated for name in p.metavariables}


@dataclass(eq=False)
class Review:
    """One function, or the body of the file: receives every operation, and is the material of matchers, sequences and
    proofs."""

    module: ModuleInfo
    index: Index
    half_shown: bool  # the file shows that it is run in half precision
    frame: Frame  # in which its body is run
    half_used: bool = False  # the file is a script that casts to half precision itself
    of_body: bool = False
    words: frozenset[str] | None = None  # of the sieve; None where nothing was sieved
    found: dict[tuple[str, int], Site] = field(default_factory=dict)  # by rule and expression
    observed: list[tuple[Value, Frame]] = field(default_factory=list)
    gradients: dict[int, bool] = field(default_factory=dict)
    statements: dict[int, ast.stmt | None] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        """The files around the one under analysis."""
        return self.frame.session.project

    @property
    def sites(self) -> list[Site]:
        """Sites of pattern rules, in no order."""
        return list(self.found.values())

    @property
    def open(self) -> list[Site]:
        """Sites whose obligations may not hold."""
        return [s for s in self.sites if s.judgement.status.is_open]

    @cached_property
    def by_operation(self) -> dict[str, list[tuple[Value, Frame]]]:
        """The operations that stand in the function by name, in order of execution."""
        table: dict[str, list[tuple[Value, Frame]]] = {}
        for value, frame in self.observed:
            if value.node is not None and hasattr(value.node, "lineno"):
                table.setdefault(value.op, []).append((value, frame))
        return table

    @cached_property
    def replacements(self) -> list[Replacement]:
        """Operations that replace some elements of another's result."""
        return replacements(v for v, _ in self.observed)

    @cached_property
    def takers(self) -> Mapping[int, list[Value]]:
        """The operations by the key of each operand itself."""
        found: dict[int, list[Value]] = {}
        for value, _ in self.observed:
            for part in value.operands.values():
                found.setdefault(part.key, []).append(value)
        return found

    @cached_property
    def users(self) -> Users:
        """The operations by what they are given."""
        return users_of(v for v, _ in self.observed)

    def observe(self, value: Value, frame: Frame) -> None:
        """Matches one operation against the rules whose patterns have it at the root."""
        self.observed.append((value, frame))
        self.gradients[id(value)] = frame.state.gradient
        self.statements[id(value)] = frame.statement
        candidates = self.index.by_operation.get(value.op)
        if candidates is None or value.node is None or not hasattr(value.node, "lineno"):
            return
        found = Match(tests=frame.state.tests, where=id(frame.function))
        for rule, shape in candidates:
            root = shape.roots[0]
            if root is not None and match(root, value, found, shape.optional):
                self._keep(rule, value, found, frame)
                found = Match(tests=frame.state.tests, where=id(frame.function))

    def context(self, value: Value, bindings: Mapping[str, Value], frame: Frame) -> Context:
        """What predicates may ask about a match."""
        ranges = {name: frame.state.effective(v) for name, v in bindings.items()}
        state = frame.state
        return Context(
            value,
            bindings,
            ranges,
            autocast=state.autocast,
            half_shown=self.half_shown,
            half_used=self.half_used,
            nonempty=state.nonempty,
            selecting=state.selecting,
            plural=state.plural,
            gradient=state.gradient,
            shows=self.project.shows,
        )

    def _keep(self, rule: Rule, value: Value, found: Match, frame: Frame) -> None:
        context = self.context(value, found.bindings, frame)
        truth = predicates.all_hold(rule.where, context)
        if truth is Truth.NO:
            return
        judgement = self._judge(rule, found, context, frame)
        if value.module is not frame.module and not _is_passed_on(judgement, found, value):
            return
        if truth is Truth.MAYBE or found.elsewhere or (not rule.has_contract and value.kind is Kind.ARRAY):
            judgement = _unshown(judgement)  # a form of torch's, which nothing shows to be one of arrays
        texts = {name: text_at(v, value, frame) for name, v in found.bindings.items()}
        site = Site(
            rule,
            value,
            found,
            judgement,
            frame,
            context.ranges if not judgement.assumes else _believed(context.ranges, found, frame),
            context,
            texts=texts,
            statement=frame.statement,
            gradient=frame.state.gradient,
            moment=frame.graph.youngest,
            message=_resting_on_project(rule, context) if truth is Truth.MAYBE else None,
        )
        key = (rule.code, id(value.node))
        known = self.found.setdefault(key, site)
        if known is site:
            return
        if _rank(known.judgement) < _rank(judgement):
            self.found[key], known, site = site, site, known
        known.readings.append(site)

    def _judge(self, rule: Rule, found: Match, context: Context, frame: Frame) -> Judgement:
        asked = asked_by(rule)
        if not any(comparison.variable in found.bindings for comparison, _ in asked):
            return Judgement(Status.VIOLATED)  # this spelling, or form, is itself the flaw
        held = (v for v in found.bindings.values() if v.belief is not None)
        beliefs = {v.key: frame.state.believed(v) for v in held}
        gradient = frame.state.gradient and not _is_read_out(context.root.node, frame.statement)
        judgement = judge(asked, found.bindings, context.ranges, gradient, beliefs)
        if _has_no_element_there(context.root, found.bindings, judgement):
            return Judgement(Status.DISCHARGED, by="emptiness")
        if judgement.status is not Status.DISCHARGED:
            return judgement
        if _overflows(context.root, frame):
            return overflowing(asked, found.bindings, context.root)
        bits = next((one for value in found.bindings.values() for one in _taken_for_truths(value)), None)
        on = (f"{bits.name or 'what is inverted'} holds truth values",) if bits is not None else ()
        return replace(judgement, status=Status.ASSUMED, assumes=on) if on else judgement


def _taken_for_truths(value: Value) -> Iterator[Value]:
    """What is handed over and may hold whole numbers, of which `~x` and `x & y` are others than of truth values."""
    for part in behind(value, lambda part: part.op in _BOUND):
        if part.op in _LOGIC and isinstance(getattr(part.node, "op", None), _BITWISE):
            given = (one for one in part.operands.values() if one.dtype is None and one.op in HANDED_OVER)
            yield from (one for one in given if one.kind in (Kind.TENSOR, Kind.UNKNOWN))


def _is_read_out(node: ast.AST | None, statement: ast.stmt | None) -> bool:
    """Whether a statement takes a number out of what a node gives, or cuts it off, and nothing else sees that."""
    for one in nodes_below(statement, ast.Attribute) if statement is not None else ():
        if one.value is node:
            method = operations.method(one.attr)
            return one.attr == "data" or (method is not None and method[0].name in _READ_OUT)
    return False


def _has_no_element_there(root: Value, bindings: Mapping[str, Value], judgement: Judgement) -> bool:
    """Whether the result has no element where an operand may go bad: a count of those of another one, or a sum of none."""
    operand = bindings.get(judgement.operand)
    if operand is None or root.op not in _ELEMENTWISE:
        return False
    others = [one for one in root.operands.values() if one is not operand]
    return any(is_empty_without(one, operand) or is_empty_unless(one, judgement.assumes) for one in others)


def _overflows(root: Value, frame: Frame) -> bool:
    """Whether operands that are finite, as their contract allows, have a result that its format does not hold."""
    if root.kind is Kind.NUMBER or not root.interval.reaches_infinity:
        return False
    exponent = root.operands.get("exponent")
    if exponent is not None and not frame.state.effective(exponent).is_bounded:
        return False  # powers of any size, of which none is known to be taken
    return not any(is_polluted(frame.state.effective(part)) for part in root.operands.values())


def _resting_on_project(rule: Rule, context: Context) -> str | None:
    """The message of a match that rests on the half precision which another file shows."""
    asked = map(parse_predicate, rule.where) if not context.half_shown else ()
    if not any((p.name == "dtype" and p.op == "<") or p.name == "reaches" for p in asked):
        return None
    told = ((context.shows(fact), text) for fact, text in _SHOWN_ELSEWHERE.items())
    return next((f"{rule.message}; {file} {text}" for file, text in told if file), None)


def _is_passed_on(judgement: Judgement, found: Match, value: Value) -> bool:
    """Whether an operation of another file goes wrong for what this one passes; anything else is told in that file."""
    operand = found.bindings.get(judgement.operand)
    causes = [operand] if operand is not None else [v for v in found.covered if v is not value]
    return judgement.status is Status.VIOLATED and any(stripped(v).module is not value.module for v in causes)


def _believed(ranges: Mapping[str, Interval], found: Match, frame: Frame) -> dict[str, Interval]:
    """Where the bindings lie if nobody changes a setting."""
    held = {name: v for name, v in found.bindings.items() if v.belief is not None}
    return {**ranges, **{name: frame.state.believed(v) for name, v in held.items()}}


def _unshown(judgement: Judgement) -> Judgement:
    """A match of which nothing shows that it is one."""
    if judgement.status is not Status.VIOLATED:
        return judgement
    return replace(judgement, status=Status.UNGUARDED)


_SHOWN_ELSEWHERE = {precision.FLOAT16: "names it", precision.MIXED: "asks for mixed precision"}
_ELEMENTWISE, _BOUND, _LOGIC = having("elementwise"), having("bound"), having("logic")
_BITWISE = (ast.Invert, ast.BitAnd, ast.BitOr)
_READ_OUT = having("cut") | {"item"}
_ORDER = {Status.DISCHARGED: 0, Status.ASSUMED: 1, Status.UNGUARDED: 2, Status.VIOLATED: 3}


def _rank(judgement: Judgement) -> tuple[int, Attained]:
    return _ORDER[judgement.status], judgement.attained
