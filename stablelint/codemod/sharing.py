"""Whether a rewrite away from its finding changes a value that others use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.codemod.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Span


def check_unshared(tree: Tree, span: Span, finding: Span) -> None:
    """Raise Withheld unless what the expression at `span` gives is used within `finding` alone.

    That is so within the finding, and for a value that is bound to one name or attribute which is read
    nowhere else.
    """
    node = tree.find(span)
    if node is None or finding.contains(span) or not isinstance(node, ast.expr):
        return
    statement = tree.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise Withheld("the value that would change may be used elsewhere")
    target = statement.targets[0]
    inside = range(tree.source.offset(finding.start), tree.source.offset(finding.end))
    readers = [other for other in _readers(tree, statement, target) if tree.start(other) not in inside]
    if readers:
        raise Withheld(
            f"`{ast.unparse(target)}`, which would change, is used on line {readers[0].lineno} too"
        )


def _readers(tree: Tree, statement: ast.stmt, target: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    if isinstance(target, ast.Name):
        for node in ast.walk(_scope(tree, statement)):
            if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
                yield node
    elif isinstance(target, ast.Attribute):
        for node in ast.walk(tree.module):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == target.attr
                and isinstance(node.ctx, ast.Load)
            ):
                yield node
    else:
        raise Withheld("the value that would change may be used elsewhere")


def _scope(tree: Tree, statement: ast.stmt) -> ast.AST:
    for link in tree.ancestors(statement):
        if isinstance(link.parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return link.parent
    return tree.module
