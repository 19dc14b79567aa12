"""The law that every rewrite obeys: the new text parses to the old tree with the node substituted.

Text is put together freely and then judged by this law, so that no table of precedences has to be right.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from stablelint.codemod.text.locate import Link, Region, Tree, parse_fragment
from stablelint.codemod.text.source import SourceError


def same(one: object, other: object) -> bool:
    """Whether two trees are equal but for positions."""
    if isinstance(one, ast.AST):
        if type(one) is not type(other):
            return False
        return all(
            name in ("kind", "type_comment") or same(getattr(one, name, None), getattr(other, name, None))
            for name in one._fields
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(same(left, right) for left, right in zip(one, other, strict=True))
        )
    # repr tells 1 from 1.0 from True, and 0.0 from -0.0.
    return type(one) is type(other) and repr(one) == repr(other)


def same_suite(one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> bool:
    """Whether two sequences of statements are equal but for positions."""
    return same(list(one), list(other))


def holds(text: str, region: Region, expected: Sequence[ast.stmt]) -> bool:
    """Whether `text`, put in place of a region's lines, parses to `expected`."""
    try:
        actual = parse_fragment(text, bool(region.indent))
    except SourceError:
        return False
    return same_suite(actual, expected)


def replaced(tree: Tree, region: Region, node: ast.AST, new: ast.AST) -> list[ast.stmt]:
    """The region's statements with `node` replaced by `new`; only the path between is copied."""
    current, original = new, node
    for link in tree.ancestors(node):
        if original in region.statements:
            break
        current = _with_child(link, current)
        original = link.parent
    return [
        current if statement is original and isinstance(current, ast.stmt) else statement
        for statement in region.statements
    ]


def _with_child(link: Link, child: ast.AST) -> ast.AST:
    parent = copy.copy(link.parent)
    if link.index is None:
        setattr(parent, link.field, child)
    else:
        items = list(getattr(parent, link.field))
        items[link.index] = child
        setattr(parent, link.field, items)
    return parent


class _Substitution(ast.NodeTransformer):
    def __init__(self, operands: Mapping[str, ast.expr]) -> None:
        self._operands = operands

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._operands.get(node.id, node)


def substituted(template: ast.AST, operands: Mapping[str, ast.expr]) -> ast.AST:
    """A template's tree with the names in `operands` replaced by their trees."""
    result: ast.AST = _Substitution(operands).visit(copy.deepcopy(template))
    return result
