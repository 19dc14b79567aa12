"""Facts about the consequence: what becomes of the result."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers
from stablelint.analysis.evidence.subject import Subject
from stablelint.syntax.names import called_name
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import children


@lowers
def only_read(s: Subject) -> bool:
    """is rounded, compared or shown, and no more"""
    statement = s.site.statement
    if statement is None:
        return False
    return any(map(_reads, _around(statement, s.site.node))) or _names_what_is_read(statement, s)


@lowers
def no_gradient(s: Subject) -> bool:
    """stands where no gradient is recorded"""
    return not s.site.gradient


def _names_what_is_read(statement: ast.stmt, s: Subject) -> bool:
    """Whether a statement gives a name to it that is shown or compared wherever it is read."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    root = s.function.node if s.function is not None else s.module.source.tree
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    return bool(names) and len(names) == len(targets) and names <= _only_shown(root)


@remembered
def _only_shown(root: ast.AST) -> frozenset[str]:
    """The names of a function that are shown or compared wherever they are read."""
    shown, others = set[str](), set[str]()
    pending = [(root, False)]
    for node, within in pending:  # grows while it is walked
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            (shown if within else others).add(node.id)
        inside = within or _reads(node)
        pending += [(child, inside) for child in children(node)]
    return frozenset(shown - others)


def _around(root: ast.AST, node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a statement that hold the node, from the inside."""
    for child in children(root):
        if child is node:
            yield root
            return
        found = list(_around(child, node))
        if found:
            yield from found
            yield root
            return


def _reads(around: ast.AST) -> bool:
    """Whether an expression makes of what it holds something that no gradient and no tensor comes from."""
    if isinstance(around, ast.Call):
        return words.names_a_reader(called_name(around)) or _logs(around)
    return isinstance(around, ast.Compare | ast.FormattedValue)


def _logs(call: ast.Call) -> bool:
    """Whether a call logs values by their names: `self.log("loss", x)`, `wandb.log({"loss": x})`."""
    first = call.args[0] if call.args else None
    named = isinstance(first, ast.Dict) or (isinstance(first, ast.Constant) and isinstance(first.value, str))
    return called_name(call) == "log" and named
