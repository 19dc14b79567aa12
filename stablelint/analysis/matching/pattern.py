"""Patterns as data-flow graphs: a rule's pattern is evaluated like the code it matches, with holes for operands."""

from __future__ import annotations

import ast
from collections.abc import Collection

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.interpret.interpreter import INTERPRETER
from stablelint.analysis.values.indexing import adds_dimensions, parts_of
from stablelint.analysis.values.paths import EVALUATION, Paths, Tests, agree
from stablelint.analysis.values.state import Frame, Session, State, ignore
from stablelint.analysis.values.value import Graph, Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.catalog.pattern import ALIASES, PREFIX, Pattern, modules_of, parse_pattern
from stablelint.records import dataclass, field
from stablelint.syntax.operations import VIEWS, having
from stablelint.syntax.source import Source
from stablelint.syntax.walk import descendants

_LITERAL = "literal"  # what a metavariable holds that stands for a number
_COMMUTATIVE = having("commute")
_CASTS = having("cast")
_UNCAST = VIEWS - _CASTS
_WHOLE = having("whole")  # a cast of what they yield is of another type
_JOINS = 3  # that one match goes through
_IMMATERIAL = frozenset({"inplace", "out", "memory_format", "non_blocking"})
# What an operation takes where an argument is not written, for those that are often written all the same.
_DEFAULTS = {
    key: Value("const", 0, Kind.NUMBER, data=default)
    for key, default in {("norm", "p"): 2, **{(op, "keepdim"): False for op in having("reduce")}}.items()
}


@dataclass(slots=True)
class Shape:
    """A compiled pattern: one graph, or a sequence of graphs with gaps (None) between them."""

    text: str
    roots: list[Value | None]
    optional: frozenset[str]

    @property
    def is_sequence(self) -> bool:
        """Whether it speaks of several statements."""
        return len(self.roots) > 1

    @property
    def operation(self) -> str:
        """The operation at the root."""
        root = self.roots[0]
        return root.op if root is not None else ""


@dataclass(slots=True)
class Match:
    """What a pattern's metavariables are bound to."""

    bindings: dict[str, Value] = field(default_factory=dict)
    covered: list[Value] = field(default_factory=list)  # operations that the pattern names
    through: bool = False  # a rearrangement stands between matched operations
    tests: Tests = field(default_factory=dict)  # what the matched path has tested
    where: int = 0  # the function in which the match is made
    branches: int = 0  # joins of paths that the match has gone through
    # One lies in another function, whose caller may exclude it, or off the defaults' path.
    elsewhere: bool = False
    literals: list[Value] = field(default_factory=list)  # numbers that the pattern asks for

    def copy(self) -> Match:
        """An independent copy, for an attempt that may fail."""
        return Match(
            dict(self.bindings), list(self.covered), self.through, self.tests, self.where, self.branches, self.elsewhere,
            list(self.literals)
        )  # fmt: skip

    def adopt(self, attempt: Match) -> None:
        """Takes over what an attempt that succeeded has found."""
        self.bindings, self.covered, self.through = attempt.bindings, attempt.covered, attempt.through
        self.literals = attempt.literals
        self.tests, self.branches, self.elsewhere = attempt.tests, attempt.branches, attempt.elsewhere

    def enter(self, join: Value, position: int) -> bool:
        """Goes on along one path of a join; False where the match has passed a test that excludes it."""
        self.branches += 1
        paths = join.data
        if not isinstance(paths, Paths):
            self.elsewhere = self.elsewhere or "turn" not in join.operands
            return True
        unusual = paths.usual is not None and position != paths.usual
        self.elsewhere = self.elsewhere or unusual or paths.where != self.where
        if len(paths.tests) != len(join.operands):
            return True
        tests = paths.tests[position]
        if EVALUATION in tests and EVALUATION not in self.tests:
            return False
        if not agree(tests, self.tests):
            return False
        self.tests = {**self.tests, **tests}
        return True


def compile_pattern(text: str, literals: Collection[str] = ()) -> Shape:
    """The graph of a pattern; the metavariables among `literals` stand for numbers that are written down alone."""
    parsed: Pattern = parse_pattern(text)
    source = Source("<pattern>", text, ast.Module([], []))
    packages = {name.partition(".")[0] for tree in parsed.trees for name in modules_of(tree)}
    module = ModuleInfo(None, source, "", imports={name: ALIASES.get(name, name) for name in packages})
    session = Session(ignore, Project(), INTERPRETER, budget=10_000, measures=False)
    frame = Frame(Graph(), module, None, State(), session)
    for name in parsed.metavariables:
        data = _LITERAL if name in literals else None
        hole = Value("metavariable", frame.graph.fresh(), Kind.UNKNOWN, name=name, data=data)
        frame.state.names[PREFIX + name] = hole
    roots: list[Value | None] = []
    for tree in parsed.trees:
        expression = tree.value if isinstance(tree, ast.Expr) else tree
        if isinstance(expression, ast.Constant) and expression.value is Ellipsis:
            roots.append(None)
        elif isinstance(expression, ast.expr):
            roots.append(_lower(expression, frame))
    return Shape(text, roots, parsed.optional)


def _lower(node: ast.expr, frame: Frame) -> Value:
    for inner in descendants(node):
        if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
            frame.state.names.pop(inner.target.id, None)
    value = INTERPRETER.evaluate(node, frame)
    for name, part in frame.state.names.items():
        if part.op != "metavariable" and name.startswith(PREFIX):
            if part.op == "attribute":
                part.data = part.name
            part.name = name  # `($p := …)`: the part is bound as well as matched
    return value


def match(shape: Value, value: Value, found: Match, optional: frozenset[str]) -> bool:
    """Whether `value` is an instance of `shape`; extends `found` where it is, and leaves it alone where it is not."""
    if shape.op == "metavariable":
        if shape.data == _LITERAL and not isinstance(value.default(), int | float):
            return False
        return _bind(shape.name, value, found)
    if shape.op == "const":
        constant = value.default()
        same = value.is_constant and type(constant) in (int, float, bool, str) and constant == shape.data
        if same:
            found.literals.append(value)
        return bool(same)
    if shape.op == "sequence" == value.op and not _is_same_index(shape, value):
        return False
    if shape.op == value.op:
        if _fits(shape, value, optional):
            attempt = found.copy()
            if _operands(shape, value, attempt, optional):
                _accept(shape, value, attempt, found)
                return True
        if shape.op in _COMMUTATIVE and len(shape.operands) == 2 and len(value.operands) == 2:
            a, b = value.operands.values()
            p, q = shape.operands.values()
            if _may_be(p, b) and _may_be(q, a):
                attempt = found.copy()
                if match(p, b, attempt, optional) and match(q, a, attempt, optional):
                    _accept(shape, value, attempt, found)
                    return True
    seen_through = _UNCAST if shape.op in _WHOLE else VIEWS
    if value.op in seen_through and value.first is not None and shape.op not in VIEWS:
        through, found.through = found.through, True
        if match(shape, value.first, found, optional):
            return True
        found.through = through
    if value.op == "phi" and found.branches < _JOINS:
        return _match_path(shape, value, found, optional)
    return False


def _is_same_index(shape: Value, value: Value) -> bool:
    """Whether what is written between two pairs of brackets is the same, where it is no more than whole dimensions."""
    parts, others = parts_of(shape), parts_of(value)
    if not adds_dimensions(shape):
        return True
    return len(parts) == len(others) and all(
        part.kind is other.kind and part.op == other.op and (part.op == "slice" or part.data is other.data)
        for part, other in zip(parts, others, strict=True)
    )


def _match_path(shape: Value, join: Value, found: Match, optional: frozenset[str]) -> bool:
    """Whether the value of one of the paths that meet here is an instance of `shape`."""
    for position, path in enumerate(join.operands.values()):
        if path.guard == "branch":
            continue  # the path has tested this very value
        attempt = found.copy()
        if attempt.enter(join, position) and match(shape, path, attempt, optional):
            found.adopt(attempt)
            return True
    return False


def _accept(shape: Value, value: Value, attempt: Match, found: Match) -> None:
    attempt.covered.append(value)
    if shape.name.startswith(PREFIX):
        attempt.bindings[shape.name.removeprefix(PREFIX)] = value
    found.adopt(attempt)


def _bind(name: str, value: Value, found: Match) -> bool:
    known = found.bindings.get(name)
    if known is None:
        found.bindings[name] = value
        return True
    return known.key == value.key or stripped(known).key == stripped(value).key


def _fits(shape: Value, value: Value, optional: frozenset[str]) -> bool:
    """Whether an operation has the operands that a pattern names, and no other that matters."""
    if shape.op == "attribute" and value.name not in (shape.name, shape.data):
        return False
    given, asked = value.operands, shape.operands
    for name, part in asked.items():
        if name in given:
            if not _may_be(part, given[name]):
                return False
        elif not _is_rest(part) and not (part.op == "metavariable" and part.name in optional):
            return False
    if given.keys() <= asked.keys() or any(map(_is_rest, asked.values())):
        return True
    extra = given.keys() - asked.keys() - _IMMATERIAL
    return all(_is_left_out(value, name) for name in extra)


def _may_be(shape: Value, value: Value) -> bool:
    """Whether a value may be an instance of a shape, by their operations alone."""
    op = value.op
    return shape.op == "metavariable" or shape.op == op or op == "phi" or op in VIEWS or _is_rest(shape)


def _is_left_out(value: Value, name: str) -> bool:
    """Whether an argument that a pattern does not name is what it would be if it were not written."""
    operand, default = value.operands[name], _DEFAULTS.get((value.op, name))
    return operand.kind is Kind.NONE or (
        default is not None and match(default, operand, Match(), frozenset())
    )


def _is_rest(part: Value) -> bool:
    """Whether a part of a pattern is `...`: any further arguments."""
    return part.op == "const" and part.data is Ellipsis


def _operands(shape: Value, value: Value, found: Match, optional: frozenset[str]) -> bool:
    """Whether the operands of an operation, which fit, are what a pattern asks for."""
    given, asked = value.operands, shape.operands
    found.literals += [given[name] for name in given.keys() - asked.keys() if (value.op, name) in _DEFAULTS]
    return all(
        name not in given or _is_rest(part) or match(part, given[name], found, optional)
        for name, part in asked.items()
    )
