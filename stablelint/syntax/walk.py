"""Walks syntax trees.

`ast.walk` spends most of its time on asking each node for fields that cannot hold another; a table by type says which
ones can.
"""

from __future__ import annotations

import ast


def descendants(root: ast.AST) -> list[ast.AST]:
    """The node and all nodes below it, each before what it holds; contexts and operators are left out."""
    found: list[ast.AST] = [root]
    append, extend = found.append, found.extend
    for node in found:  # grows while it is walked
        for name in FIELDS[type(node)]:
            value = getattr(node, name)
            if type(value) is not list:
                if value is not None:
                    append(value)
            elif type(node) in GAPPY:
                extend(item for item in value if item is not None)
            else:
                extend(value)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node; contexts and operators are left out."""
    found: list[ast.AST] = []
    for name in FIELDS[type(node)]:
        value = getattr(node, name)
        if type(value) is not list:
            if value is not None:
                found.append(value)
        elif type(node) in GAPPY:
            found.extend(item for item in value if item is not None)
        else:
            found.extend(value)
    return found


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
