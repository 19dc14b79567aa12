"""What matchers share: the operations of a function by name, and the making of a site."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.interpret.interpreter import INTERPRETER
from stablelint.analysis.matching.pattern import Match
from stablelint.analysis.matching.sites import Collector, Site, text_at
from stablelint.analysis.proof.judge import Judgement
from stablelint.analysis.values.state import Frame, Session, State, ignore
from stablelint.analysis.values.value import Graph, Kind, Value
from stablelint.diagnostic import Status

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.catalog.rule import Rule

Observed = tuple[Value, Frame]


def observed(review: Review, *operations: str) -> list[Observed]:
    """The operations of these names that stand in the reviewed function, in order of execution."""
    table = _by_operation(review.collector)
    found = [pair for operation in operations for pair in table.get(operation, ())]
    return sorted(found, key=lambda pair: place(pair[0])) if len(operations) > 1 else found


@lru_cache(maxsize=2)
def _by_operation(collector: Collector) -> dict[str, list[Observed]]:
    table: dict[str, list[Observed]] = {}
    for value, frame in collector.observed:
        if value.node is not None and hasattr(value.node, "lineno"):
            table.setdefault(value.op, []).append((value, frame))
    return table


def made_of(review: Review) -> Iterator[tuple[Observed, Value]]:
    """Every value that the reviewed function computes, each once, with the operation of it that was observed."""
    seen: set[int] = set()
    for pair in review.collector.observed:
        pending = [pair[0]]
        while pending:
            value = pending.pop()
            if id(value) not in seen:
                seen.add(id(value))
                yield pair, value
                pending.extend(value.operands.values())


def place(value: Value) -> tuple[int, int]:
    """Where an operation ends in the text: calls on one line stand in the order in which they are made."""
    node = value.node
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def scope_of(frame: Frame) -> ast.AST:
    """The tree of the function (or module) that a frame runs."""
    return frame.function.node if frame.function is not None else frame.module.source.tree


def receiver_text(value: Value) -> str:
    """The text of the object whose method a call is: ``self.optimizer`` of ``self.optimizer.step()``."""
    node = value.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    return ""


def make_site(
    review: Review,
    rule: Rule,
    observed_at: Observed,
    bindings: Mapping[str, Value] | None = None,
    *,
    shown: bool = True,
    message: str | None = None,
    anchor: ast.AST | None = None,
    statement: ast.stmt | None = None,
    texts: Mapping[str, str] | None = None,
) -> Site:
    """A site of `rule` at an observed operation: violated where the program is `shown` to come to it, else unguarded.

    `anchor` is the node shown where that is not the operation, `statement` the one that statement fixes refer
    to (by default the operation's own), `texts` what bindings are called there, where it is known.
    """
    value, frame = observed_at
    bound = dict(bindings or {})
    context = review.collector.context(value, bound, frame)
    named: dict[str, str | None] = {name: text_at(v, value, frame) for name, v in bound.items()}
    named.update(texts or {})
    status = Status.VIOLATED if shown else Status.UNGUARDED
    return Site(
        rule,
        value,
        Match(bound, [value]),
        Judgement(status),
        frame,
        context.ranges,
        context,
        named,
        statement or review.collector.statements.get(id(value)),
        message=message,
        anchor=anchor,
    )


def site_at(
    review: Review,
    rule: Rule,
    node: ast.expr,
    parts: Mapping[str, ast.expr] | None = None,
    *,
    shown: bool = True,
    message: str | None = None,
    statement: ast.stmt | None = None,
    kind: Kind = Kind.UNKNOWN,
) -> Site:
    """A site at an expression that the analysis itself did not visit.

    `parts` are what fixes may rewrite there, `kind` what those are known to be.
    """
    graph = Graph()
    frame = Frame(graph, review.module, None, State(), Session(ignore, Project(), INTERPRETER))
    known = {id(node): Value("expression", graph.fresh(), node=node, module=review.module)}
    bound = {
        name: known.setdefault(id(part), Value("expression", graph.fresh(), node=part, module=review.module))
        for name, part in (parts or {}).items()
    }
    for value in bound.values():
        value.kind = kind
    return make_site(
        review, rule, (known[id(node)], frame), bound, shown=shown, message=message, statement=statement
    )


def qualified(node: ast.expr, module: ModuleInfo) -> str:
    """The dotted name that an expression stands for, by the imports of the file; empty where it is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([module.imports.get(node.id, node.id), *reversed(parts)])
