"""Walks syntax trees.

`ast.walk` spends most of its time on asking each node for fields that cannot hold another; a table by type says which
ones can. What many ask for of the same tree is sorted by kind once, and remembered as long as the tree lives.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)
# By kind, each node with its place in the order of the walk.
_Table = dict[type[ast.AST], list[tuple[int, Any]]]
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
"""What has names of its own."""


def descendants(root: ast.AST) -> list[ast.AST]:
    """The node and all nodes below it, each before what it holds; contexts and operators are left out."""
    return _reached(root, FIELDS)


def _reached(root: ast.AST, fields: Mapping[type[ast.AST], tuple[str, ...]]) -> list[ast.AST]:
    found: list[ast.AST] = [root]
    append, extend = found.append, found.extend
    for node in found:  # grows while it is walked
        for name in fields[type(node)]:
            value = getattr(node, name)
            if type(value) is not list:
                if value is not None:
                    append(value)
            elif type(node) in GAPPY:
                extend(filter(None, value))
            else:
                extend(value)
    return found


def children(node: ast.AST, fields: Mapping[type[ast.AST], tuple[str, ...]] | None = None) -> list[ast.AST]:
    """The nodes directly below a node, on demand in some fields alone; contexts and operators are left out."""
    found: list[ast.AST] = []
    for name in (fields or FIELDS)[type(node)]:
        value = getattr(node, name)
        if type(value) is not list:
            if value is not None:
                found.append(value)
        elif type(node) in GAPPY:
            found.extend(filter(None, value))
        else:
            found.extend(value)
    return found


def nodes_below(tree: ast.AST, *kinds: type[_Node]) -> list[_Node]:
    """The nodes of these kinds below `tree`, in the order of `descendants`."""
    if _are_statements(kinds):
        return _chosen(_table(tree, "_statements_below", lambda: statements_below(tree)), kinds)
    return _chosen(_table(tree, "_below", lambda: descendants(tree)[1:]), kinds)


def nodes_in(tree: ast.AST, *kinds: type[_Node]) -> list[_Node]:
    """The nodes of these kinds below `tree`, without those of functions and classes defined in it."""
    if _are_statements(kinds):
        return _chosen(_table(tree, "_statements", lambda: _within(tree, BLOCKS)), kinds)
    return _chosen(_table(tree, "_within", lambda: _within(tree, FIELDS)), kinds)


def _are_statements(kinds: tuple[type[ast.AST], ...]) -> bool:
    return all(issubclass(kind, ast.stmt) for kind in kinds)


def statements_below(tree: ast.AST) -> list[ast.AST]:
    """The statements below a node at every level, with the handlers and cases that hold some."""
    return _reached(tree, BLOCKS)[1:]


def functions_below(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions and methods below `tree`, in the order of `descendants`."""
    kinds: tuple[type[Any], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
    return nodes_below(tree, *kinds)


def _within(tree: ast.AST, fields: Mapping[type[ast.AST], tuple[str, ...]]) -> list[ast.AST]:
    """The nodes below `tree` that are reached through some fields."""
    found: list[ast.AST] = []
    stack = children(tree, fields)
    while stack:
        node = stack.pop()
        found.append(node)
        kind = type(node)
        if kind not in SCOPES and fields[kind]:
            stack += children(node, fields)
    return found


def _table(tree: ast.AST, name: str, nodes: Callable[[], list[ast.AST]]) -> _Table:
    """The nodes by kind, which the tree itself keeps under a name."""
    table: _Table | None = tree.__dict__.get(name)
    if table is None:
        table = tree.__dict__[name] = {}
        for pair in enumerate(nodes()):
            kind = type(pair[1])
            if kind in table:
                table[kind].append(pair)
            else:
                table[kind] = [pair]
    return table


def _chosen(table: _Table, kinds: tuple[type[_Node], ...]) -> list[_Node]:
    parts = [pairs for kind, pairs in table.items() if issubclass(kind, kinds)]
    chosen = (
        parts[0] if len(parts) == 1 else sorted((pair for part in parts for pair in part), key=itemgetter(0))
    )
    return [node for _, node in chosen]


# Fields that hold a name, a number or a mark.
_PLAIN = frozenset(
    "id attr arg name asname module level names kind type_comment conversion is_async simple tag lineno rest kwd_attrs "
    "ctx op ops cls_name".split()
)
GAPPY = frozenset({ast.Dict, ast.arguments})
"""Kinds of nodes with lists that hold None."""


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in (ast.Constant, ast.MatchSingleton):
        return ()
    kept = (
        {"names"}
        if kind in (ast.Import, ast.ImportFrom)
        else {"name"}
        if kind.__name__ == "TypeAlias"
        else set()
    )
    return tuple(field for field in kind._fields if field not in _PLAIN or field in kept)


def _kinds(base: type[ast.AST]) -> set[type[ast.AST]]:
    return {base}.union(*map(_kinds, base.__subclasses__()))


FIELDS = {kind: _fields_of(kind) for kind in _kinds(ast.AST)}
"""The fields of each kind of node that hold other nodes."""
BLOCKS = {
    kind: tuple(field for field in fields if field in ("body", "orelse", "finalbody", "handlers", "cases"))
    if issubclass(kind, ast.stmt | ast.mod | ast.excepthandler | ast.match_case)
    else ()
    for kind, fields in FIELDS.items()
}
"""The fields of each kind of node that hold statements, or what holds some."""
