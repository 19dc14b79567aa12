"""Collects the places at which a rule speaks, while the analysis runs over a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

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
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.proof.judge import Judgement, judge
from stablelint.analysis.proof.replacement import Obligation
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.catalog import contract
from stablelint.catalog.catalog import Catalog
from stablelint.catalog.contract import Contract
from stablelint.catalog.predicates import parse_predicate
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status
from stablelint.numerics.interval import Interval
from stablelint.syntax import precision
from stablelint.syntax.walk import descendants


@dataclass(slots=True)
class Site:
    """A rule's pattern met at an expression."""

    rule: Rule
    value: Value
    match: Match
    judgement: Judgement
    frame: Frame
    ranges: Mapping[str, Interval]
    context: Context
    texts: dict[str, str | None] = field(default_factory=dict)
    statement: ast.stmt | None = None
    gradient: bool = True
    message: str | None = None
    anchor: ast.AST | None = None  # where the finding is shown, where that is not the root of the match
    # The same expression as other patterns of the rule read it.
    readings: list[Site] = field(default_factory=list)
    replaced: Site | None = None  # of a rule that this one replaces, about an operand of the same expression

    @property
    def operand(self) -> Value | None:
        """The operand that may be bad; None for a form that is a flaw by itself."""
        return self.match.bindings.get(self.judgement.operand)

    @property
    def obligation(self) -> Obligation:
        """What proofs speak of."""
        needs = contract.parse(self.rule.forward).about(self.judgement.operand) if self.rule.forward else ()
        return Obligation(self.value, self.operand, self.gradient, self.frame, needs)

    @property
    def node(self) -> ast.AST:
        """The expression (or statement) the finding is about."""
        node = self.anchor or self.value.node
        assert node is not None
        return node


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


def index_of(catalog: Catalog) -> Index:
    """The compiled patterns of a catalog; compiled once."""
    if catalog.digest not in _INDICES:
        _INDICES[catalog.digest] = _index(catalog)
    return _INDICES[catalog.digest]


_INDICES: dict[str, Index] = {}  # by the digest of the catalog


def _index(catalog: Catalog) -> Index:
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


class Collector:
    """Receives every operation of a reporting frame and keeps the sites among them."""

    def __init__(self, index: Index, half_shown: bool, half_used: bool = False) -> None:
        self._index = index
        self._half_shown = half_shown
        self._half_used = half_used
        self.sites: dict[tuple[str, int], Site] = {}
        self.observed: list[tuple[Value, Frame]] = []
        self.gradients: dict[int, bool] = {}
        self.statements: dict[int, ast.stmt | None] = {}

    def observe(self, value: Value, frame: Frame) -> None:
        """Matches one operation against the rules whose patterns have it at the root."""
        self.observed.append((value, frame))
        self.gradients[id(value)] = frame.state.gradient
        self.statements[id(value)] = frame.statement
        candidates = self._index.by_operation.get(value.op)
        if candidates is None or value.node is None or not hasattr(value.node, "lineno"):
            return
        for rule, shape in candidates:
            root = shape.roots[0]
            found = Match(tests=frame.state.tests, where=id(frame.function))
            if root is not None and match(root, value, found, shape.optional):
                self._keep(rule, shape, value, found, frame)

    def context(self, value: Value, bindings: Mapping[str, Value], frame: Frame) -> Context:
        """What predicates may ask about a match."""
        ranges = {name: frame.state.effective(v) for name, v in bindings.items()}
        state = frame.state
        return Context(
            value,
            bindings,
            ranges,
            state.autocast,
            self._half_shown,
            state.nonempty,
            state.selecting,
            state.plural,
            state.gradient,
            self._half_used,
            frame.session.project.shows,
        )

    def _keep(self, rule: Rule, shape: Shape, value: Value, found: Match, frame: Frame) -> None:
        context = self.context(value, found.bindings, frame)
        truth = predicates.all_hold(rule.where, context)
        if truth is Truth.NO:
            return
        judgement = self._judge(rule, found, context, frame)
        if value.module is not frame.module and not _is_passed_on(judgement, found, value):
            return
        form = rule.forward is None and rule.backward is None
        if truth is Truth.MAYBE or found.elsewhere or (form and value.kind is Kind.ARRAY):
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
            texts,
            frame.statement,
            frame.state.gradient,
            _resting_on_project(rule, context) if truth is Truth.MAYBE else None,
        )
        key = (rule.code, id(value.node))
        known = self.sites.setdefault(key, site)
        if known is site:
            return
        if _rank(known.judgement) < _rank(judgement):
            self.sites[key], known, site = site, site, known
        known.readings.append(site)

    def _judge(self, rule: Rule, found: Match, context: Context, frame: Frame) -> Judgement:
        if rule.forward is None and rule.backward is None:
            return Judgement(Status.VIOLATED)
        forward, backward = contracts_of(rule)
        spoken = set(forward.variables if forward else ()) | set(backward.variables if backward else ())
        if not spoken & found.bindings.keys():
            return Judgement(Status.VIOLATED)  # this spelling is itself the flaw
        held = (v for v in found.bindings.values() if v.belief is not None)
        beliefs = {v.key: frame.state.believed(v) for v in held}
        return judge(forward, backward, found.bindings, context.ranges, frame.state.gradient, beliefs)


def contracts_of(rule: Rule) -> tuple[Contract | None, Contract | None]:
    """What a rule asks of operands for the value to be finite, and for its gradient."""
    return (
        contract.parse(rule.forward) if rule.forward else None,
        contract.parse(rule.backward) if rule.backward else None,
    )


def _resting_on_project(rule: Rule, context: Context) -> str | None:
    """The message of a match that rests on the half precision which another file shows."""
    asks = any(p.name == "dtype" and p.op == "<" for p in map(parse_predicate, rule.where))
    file = context.shows(precision.FLOAT16) if asks and not context.half_shown else None
    return f"{rule.message}; {file} names it" if file else None


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


_ORDER = {Status.DISCHARGED: 0, Status.ASSUMED: 1, Status.UNGUARDED: 2, Status.VIOLATED: 3}


def _rank(judgement: Judgement) -> tuple[int, Attained]:
    return _ORDER[judgement.status], judgement.attained


def text_at(value: Value, root: Value, frame: Frame) -> str | None:
    """Python that yields `value` when it is evaluated where `root` stands; None where there is none."""
    source = frame.module.source
    if value.node is not None and value.module is frame.module and isinstance(value.node, ast.expr):
        # In a loop, a name may hold what the root itself gave in the pass before.
        again = value.node is root.node and value.key != root.key
        if root.node is not None and encloses(root.node, value.node) and not again:
            return source.segment(value.node)
    literal = _literal_in(root.node, value)
    if literal is not None:
        return source.segment(literal)
    for name, held in frame.state.names.items():
        if held.key == value.key and _is_same_constant(held, value):
            return name
    for (base, attr), held in frame.state.attributes.items():
        if held.key == value.key and frame.receiver is not None and base == frame.receiver.key:
            return f"self.{attr}"
    if value.assumed and frame.receiver is not None:
        if value.key == frame.graph.key("attribute", frame.receiver.key, value.name):
            return f"self.{value.name}"
    if value.is_constant and isinstance(value.data, int | float | str) and not isinstance(value.data, bool):
        return repr(value.data)
    if value.node is None or value.module is not frame.module or not isinstance(value.node, ast.expr):
        return None
    return source.segment(value.node) if _still_valid(value.node, root, frame) else None


def _literal_in(root: ast.AST | None, value: Value) -> ast.expr | None:
    """Where `root` itself spells a value that belongs to no file: a tuple of dimensions, an element type."""
    if root is None or value.module is not None:
        return None
    for node in descendants(root):
        if isinstance(node, ast.Tuple | ast.List) and node is value.node:
            return node
        if isinstance(node, ast.Attribute) and value.op == "dtype" and node.attr == value.dtype:
            return node
    return None


def _is_same_constant(held: Value, value: Value) -> bool:
    """Whether two equal values are one: a parameter whose default is 1 is not any 1 of the code."""
    return not value.is_constant or (held.node is value.node and held.assumed == value.assumed)


def encloses(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether `inner` stands within `outer` in the text."""
    start = (outer.lineno, outer.col_offset) <= (inner.lineno, inner.col_offset)  # type: ignore[attr-defined]
    end = (inner.end_lineno, inner.end_col_offset) <= (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]
    return bool(start and end)


def _still_valid(node: ast.expr, root: Value, frame: Frame) -> bool:
    """Whether the names in an earlier expression mean the same at the root: nothing between rebinds them."""
    if frame.function is None or root.node is None or isinstance(frame.function.node, ast.Lambda):
        return False
    if not encloses(frame.function.node, node):
        return False
    names = {n.id for n in descendants(node) if isinstance(n, ast.Name)}
    if any(isinstance(n, ast.Call | ast.Await | ast.Yield | ast.NamedExpr) for n in descendants(node)):
        return False  # it would be computed twice
    first, last = node.lineno, root.node.lineno  # type: ignore[attr-defined]
    for inner in descendants(frame.function.node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in names:
            if first <= inner.lineno <= last:
                return False
    return True


def text_before(value: Value, root: Value, frame: Frame) -> str | None:
    """Python that yields at `root` a value that the function computes only later; None where there is none."""
    node, place = value.node, root.node
    if not isinstance(node, ast.expr) or place is None or value.module is not frame.module:
        return None
    if frame.function is None or isinstance(frame.function.node, ast.Lambda):
        return None
    names = {n.id for n in descendants(node) if isinstance(n, ast.Name)}
    if any(isinstance(n, ast.Await | ast.Yield | ast.NamedExpr) for n in descendants(node)):
        return None
    first, last = sorted((node.lineno, place.lineno))  # type: ignore[attr-defined]
    for inner in descendants(frame.function.node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in names:
            if first <= inner.lineno < last or (inner.lineno == last and node.lineno > place.lineno):  # type: ignore[attr-defined]
                return None
    return frame.module.source.segment(node)
