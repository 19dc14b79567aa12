"""Facts about the consequence: what becomes of the result."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers
from stablelint.analysis.evidence.subject import Subject
from stablelint.syntax.names import called_name
from stablelint.syntax.walk import children


@lowers
def only_read(s: Subject) -> bool:
    """is rounded, compared or shown, and no more"""
    return s.site.statement is not None and any(map(_reads, _around(s.site.statement, s.site.node)))


@lowers
def no_gradient(s: Subject) -> bool:
    """stands where no gradient is recorded"""
    return not s.site.gradient


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
        return words.names_a_reader(called_name(around))
    return isinstance(around, ast.Compare | ast.FormattedValue)
