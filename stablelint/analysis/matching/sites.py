"""The places at which a rule speaks, and the text that stands for a value there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.analysis.matching.pattern import Match
from stablelint.analysis.matching.predicates import Context
from stablelint.analysis.proof.judge import Judgement, asked_by
from stablelint.analysis.proof.replacement import Obligation
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Value
from stablelint.catalog.rule import Rule
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass, field
from stablelint.syntax.names import bound_by, spelled
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
    moment: int = 0  # the youngest key of the graph when it was met
    message: str | None = None
    withheld: str | None = None  # why none of the rule's rewrites suits
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
        asked = asked_by(self.rule)
        needs = tuple(c for c, backward in asked if not backward and c.variable == self.judgement.operand)
        return Obligation(self.value, self.operand, self.gradient, self.frame, needs)

    @property
    def node(self) -> ast.AST:
        """The expression (or statement) the finding is about."""
        node = self.anchor or self.value.node
        assert node is not None
        return node


def text_at(value: Value, root: Value, frame: Frame) -> str | None:
    """Python that yields `value` when it is evaluated where `root` stands; None where there is none."""
    source = frame.module.source
    own = value.node if value.module is frame.module and isinstance(value.node, ast.expr) else None
    if own is not None and root.node is not None and encloses(root.node, own):
        # In a loop, a name may hold what the root itself gave in the pass before.
        if own is not root.node or value.key == root.key:
            return source.segment(own)
    literal = _literal_in(root.node, value)
    if literal is not None:
        return source.segment(literal)
    name = _name_of(value, root.node, frame)
    if name is not None:
        return name
    if value.is_constant and isinstance(value.data, int | float | str) and not isinstance(value.data, bool):
        return repr(value.data)
    return source.segment(own) if own is not None and _still_valid(own, root, frame) else None


def _name_of(value: Value, root: ast.AST | None, frame: Frame) -> str | None:
    """The name, or the attribute of `self`, that holds a value: one that stands in the root, where there are several."""
    names_held = frame.state.names.items()
    equal = [(n, held) for n, held in names_held if held.key == value.key and _is_same_constant(held, value)]
    if frame.receiver is not None:
        own = frame.receiver.key
        attributes = frame.state.attributes.items()
        kept = ((f"self.{attr}", held) for (base, attr), held in attributes if base == own)
        equal += [(name, held) for name, held in kept if held.key == value.key]
    if equal:
        # Two names may hold equal values: the one that was given this very value is the one that is meant.
        names = [name for name, held in equal if held is value] or [name for name, _ in equal]
        if len(names) == 1 or root is None:
            return names[0]
        read = {spelled(node) for node in descendants(root) if isinstance(node, ast.Name | ast.Attribute)}
        return next((name for name in names if name in read), names[0])
    if value.assumed and frame.receiver is not None:
        if value.key == frame.graph.key("attribute", frame.receiver.key, value.name):
            return f"self.{value.name}"
    return None


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


def is_inside_function(node: ast.AST, site: Site) -> bool:
    """Whether a node stands in the function of a site; at the top level of a file, anything does."""
    function = site.frame.function
    return function is None or encloses(function.node, node)


def _still_valid(node: ast.expr, root: Value, frame: Frame) -> bool:
    """Whether the names in an earlier expression mean the same at the root: nothing between rebinds them."""
    if frame.function is None or root.node is None or isinstance(frame.function.node, ast.Lambda):
        return False
    if not encloses(frame.function.node, node):
        return False
    if any(isinstance(n, ast.Call | ast.Await | ast.Yield | ast.NamedExpr) for n in descendants(node)):
        return False  # it would be computed twice
    last: int = root.node.lineno  # type: ignore[attr-defined]
    return not is_rebound(node, frame.function.node, range(node.lineno, last + 1))


def is_rebound(node: ast.expr, function: ast.AST, rows: range) -> bool:
    """Whether one of the names or attributes in an expression is bound anew in these rows of a function."""
    read = {spelled(n) for n in descendants(node) if isinstance(n, ast.Name | ast.Attribute)}
    return any(
        getattr(n, "lineno", 0) in rows and not read.isdisjoint((*bound_by(n), *_attributes_bound(n)))
        for n in descendants(function)
    )


def _attributes_bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield spelled(node)


def text_before(value: Value, root: Value, frame: Frame) -> str | None:
    """Python that yields at `root` a value that the function computes only later; None where there is none."""
    node, place = value.node, root.node
    if not isinstance(node, ast.expr) or place is None or value.module is not frame.module:
        return None
    if frame.function is None or isinstance(frame.function.node, ast.Lambda):
        return None
    if any(isinstance(n, ast.Await | ast.Yield | ast.NamedExpr) for n in descendants(node)):
        return None
    row: int = place.lineno  # type: ignore[attr-defined]
    later = range(row, node.lineno + 1) if row < node.lineno else range(node.lineno, row)
    return None if is_rebound(node, frame.function.node, later) else frame.module.source.segment(node)
