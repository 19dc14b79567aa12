"""The function that stands around a line."""

from __future__ import annotations

import ast

Function = ast.FunctionDef | ast.AsyncFunctionDef


def enclosing(tree: ast.AST, row: int) -> Function | None:
    """The innermost function around a row; None outside of any."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, Function) and node.lineno <= row <= (node.end_lineno or 0)
    ]
    return around[-1] if around else None  # the walk is breadth first: inner functions come later
