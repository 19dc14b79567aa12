"""Where statements stand to one another: enclosing nodes, blocks, and paths that exclude each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from stablelint.syntax.walk import SCOPES, children, descendants

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@lru_cache(maxsize=4)
def parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parent of each node below `root`."""
    return {child: node for node in descendants(root) for child in children(node)}


def ancestors(node: ast.AST, root: ast.AST) -> Iterator[ast.AST]:
    """The nodes around `node`, innermost first, `root` last."""
    above = parents(root)
    while node is not root and node in above:
        node = above[node]
        yield node


def loop_around(node: ast.AST, root: ast.AST) -> ast.AST | None:
    """The innermost loop of the same function in whose body `node` stands."""
    inner = node
    for outer in ancestors(node, root):
        if isinstance(outer, SCOPES) and outer is not root:
            return None
        if isinstance(outer, _LOOPS) and inner in outer.body:
            return outer
        inner = outer
    return None


def block_of(node: ast.AST, root: ast.AST) -> list[ast.stmt] | None:
    """The list of statements in which the statement that holds `node` stands."""
    for outer in (node, *ancestors(node, root)):
        if isinstance(outer, ast.stmt):
            above = parents(root).get(outer)
            return _list_with(outer, above) if above is not None else None
    return None


def statement_in(node: ast.AST, block: list[ast.stmt], root: ast.AST) -> int | None:
    """Which statement of `block` holds `node`."""
    around = {id(n) for n in (node, *ancestors(node, root))}
    return next((i for i, statement in enumerate(block) if id(statement) in around), None)


def exclusive(one: ast.AST, other: ast.AST, root: ast.AST) -> bool:
    """Whether no single pass runs both: they stand in different arms, or the path of one of them leaves."""
    first, second = [one, *ancestors(one, root)], [other, *ancestors(other, root)]
    around = {id(n): i for i, n in enumerate(second)}
    at = next((i for i, n in enumerate(first) if id(n) in around), None)
    if at is None or at == 0 or around[id(first[at])] == 0:
        return False
    common, left, right = first[at], first[at - 1], second[around[id(first[at])] - 1]
    if isinstance(common, ast.If | ast.IfExp | ast.Try | ast.Match) and _arm(left, common) != _arm(
        right, common
    ):
        return not (isinstance(common, ast.Try) and "finalbody" in (_arm(left, common), _arm(right, common)))
    return _leaves(first[:at], root) or _leaves(second[: around[id(common)]], root)


def _arm(node: ast.AST, parent: ast.AST) -> str:
    for name, field in ast.iter_fields(parent):
        if field is node or (isinstance(field, list) and any(n is node for n in field)):
            return f"{name}{id(node)}" if isinstance(node, ast.match_case | ast.ExceptHandler) else name
    return ""


def _leaves(path: list[ast.AST], root: ast.AST) -> bool:
    """Whether a branch on this path ends by leaving the loop or the function."""
    for node in path:
        if not isinstance(node, ast.stmt):
            continue
        above = parents(root).get(node)
        if not isinstance(above, ast.If | ast.Try | ast.ExceptHandler):
            continue
        if above not in path:
            continue
        block = _list_with(node, above)
        if block and isinstance(block[-1], _LEAVES):
            return True
    return False


def _list_with(node: ast.stmt, parent: ast.AST) -> list[ast.stmt] | None:
    for _, field in ast.iter_fields(parent):
        if isinstance(field, list) and any(n is node for n in field):
            return field
    return None


def start(node: ast.AST) -> tuple[int, int]:
    """Where a node begins in the text."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def mentions(tree: ast.AST, *names: str) -> bool:
    """Whether one of the names stands in the tree as a name or attribute."""
    for node in descendants(tree):
        if isinstance(node, ast.Attribute) and node.attr in names:
            return True
        if isinstance(node, ast.Name) and node.id in names:
            return True
    return False
