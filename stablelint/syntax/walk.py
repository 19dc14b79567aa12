"""Walks syntax trees.

`ast.walk` spends most of its time on asking each node for fields it may lack; a node's own dictionary holds
what is there.
"""

from __future__ import annotations

import ast
from collections.abc import Container
from types import EllipsisType, NoneType


def descendants(root: ast.AST, without: Container[int] = ()) -> list[ast.AST]:
    """The node and all nodes below it, each before what it holds; contexts and operators are left out.

    What stands below the nodes whose ids are in `without` is left out, too.
    """
    found: list[ast.AST] = [root]
    append = found.append
    for node in found:  # grows while it is walked
        if without and id(node) in without:
            continue
        for value in node.__dict__.values():
            kind = type(value)
            if kind is list:
                for item in value:
                    if type(item) not in _BARE:
                        append(item)
            elif kind not in _BARE:
                append(value)
    return found


_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_PLAIN: set[type] = {str, int, bool, float, complex, bytes, NoneType, EllipsisType}
_BARE = frozenset(_PLAIN.union(*(base.__subclasses__() for base in _MARKS)))
