"""Names that the code has given to a value already: a rewrite speaks of it by that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from stablelint.codemod.flow.effects import Effect, effect, is_cheap
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree

_SEQUENTIAL = (ast.If, ast.With, ast.AsyncWith, ast.Try)


def by_name(tree: Tree, site: ast.AST, operand: Operand) -> Operand:
    """The operand by the name that an assignment before `site` gave to an equal expression, if there is one.

    Only for an operand from elsewhere: what stands within the finding keeps its text. Nothing between the
    assignment and the site may bind the name, or bind or write into what the expression reads.
    """
    if operand.node is not None or is_cheap(operand.tree) or effect(operand.tree) is Effect.ACTS:
        return operand
    read = {node.id for node in ast.walk(operand.tree) if isinstance(node, ast.Name)}
    changed: set[str] = set()
    for statement in _earlier(tree, tree.statement(site)):
        name = _given(statement)
        if name is not None and isinstance(statement, ast.Assign) and same(statement.value, operand.tree):
            if name in changed or name in read or read & changed:
                return operand
            return replace(operand, text=name, tree=ast.Name(name, ast.Load()), span=None)
        changed.update(written_by(statement))
    return operand


def _earlier(tree: Tree, statement: ast.stmt) -> Iterator[ast.stmt]:
    """Statements that have run before this one in the same pass through its function, the last first."""
    while True:
        suite = tree.siblings(statement)
        yield from reversed(suite[: suite.index(statement)])
        parent = tree.link(statement).parent
        if not isinstance(parent, _SEQUENTIAL):
            return
        statement = parent


def _given(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


def written_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds, or whose value it may change in place."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from (inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name))
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr[-1:] == "_"
        ):
            yield from (inner.id for inner in ast.walk(node.func) if isinstance(inner, ast.Name))
