"""What matchers share: the operations of a function by name, and the making of a site."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping

from stablelint.analysis.files.project import Project
from stablelint.analysis.interpret.interpreter import INTERPRETER
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.pattern import Match
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site, text_at
from stablelint.analysis.proof.judge import Judgement
from stablelint.analysis.values.state import Frame, Session, State, ignore
from stablelint.analysis.values.value import Graph, Kind, Value
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status
from stablelint.matchers.tree import contexts, end
from stablelint.syntax.names import spelled

__all__ = (
    "Frame", "Kind", "Observed", "Review", "Rule", "Sites", "Value", "computed", "is_autocast", "is_under_autocast",
    "made_from", "make_site", "observed", "observes", "scope_of", "site_at",
)  # fmt: skip

Sites = Iterator[Site]
Observed = tuple[Value, Frame]


def observed(review: Review, *operations: str) -> list[Observed]:
    """The operations of these names that stand in the reviewed function, in order of execution."""
    found = [pair for operation in operations for pair in review.by_operation.get(operation, ())]
    return sorted(found, key=lambda pair: end(pair[0].node)) if len(operations) > 1 else found


def computed(review: Review) -> Iterator[Observed]:
    """Every value that the reviewed function computes, itself or in what it calls, each once."""
    frames = {id(value): frame for value, frame in review.observed}
    roots = [value for value, _ in review.observed]
    for frame in {id(frame): frame for frame in (*frames.values(), review.frame)}.values():
        for value in (*frame.returns, *frame.state.names.values()):  # a call of its own may give it
            frames.setdefault(id(value), frame)
            roots.append(value)
    for value in made_from(roots):
        yield value, frames.get(id(value), review.frame)


def made_from(values: Iterable[Value], stops: Container[str] = ()) -> Iterator[Value]:
    """The values and all that they are made of, each once; nothing that comes of, or lies behind, operations that stop."""
    seen, pending = set[int](), list(values)
    while pending:
        value = pending.pop()
        if id(value) not in seen and value.op not in stops:
            seen.add(id(value))
            yield value
            pending.extend(value.operands.values())


def scope_of(frame: Frame) -> ast.AST:
    """The tree of the function (or module) that a frame runs."""
    return frame.function.node if frame.function is not None else frame.module.source.tree


def is_autocast(head: ast.expr) -> bool:
    """Whether what stands behind a `with` is an autocast that is not switched off."""
    text = spelled(head)
    return text.partition("(")[0].rpartition(".")[2] == "autocast" and "enabled=False" not in text


def is_under_autocast(value: Value, frame: Frame) -> bool:
    """Whether an operation stands in an autocast, or the function is called in one."""
    return frame.state.autocast is not None or any(map(is_autocast, contexts(value.node, scope_of(frame))))


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
    context = review.context(value, bound, frame)
    named = {name: text_at(v, value, frame) for name, v in bound.items()} | dict(texts or {})
    judgement = Judgement(Status.VIOLATED if shown else Status.UNGUARDED)
    statement = statement or review.statements.get(id(value))
    match = Match(bound, [value])
    return Site(
        rule, value, match, judgement, frame, context.ranges, context, named, statement, message=message, anchor=anchor
    )  # fmt: skip


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
    texts: Mapping[str, str] | None = None,
    withheld: str | None = None,
) -> Site:
    """A site at an expression that the analysis itself did not visit.

    `parts` are what fixes may rewrite there, `kind` what those are known to be, `withheld` why there are none.
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
    made = make_site(
        review,
        rule,
        (known[id(node)], frame),
        bound,
        shown=shown,
        message=message,
        statement=statement,
        texts=texts,
    )
    made.withheld = withheld
    return made
