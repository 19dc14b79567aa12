"""The function that stands around a line, and whether it deals with values that are not finite."""

from __future__ import annotations

import ast
from importlib.util import decode_source

from stablelint.syntax import operations

Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEALING = operations.having("finite-test", "replace")


def enclosing(tree: ast.AST, row: int) -> Function | None:
    """The innermost function around a row; None outside of any."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, Function) and node.lineno <= row <= (node.end_lineno or 0)
    ]
    return around[-1] if around else None  # the walk is breadth first: inner functions come later


def consumes(source: bytes, row: int) -> bool:
    """Whether the innermost function around a row asks for, replaces or selects by values that are not finite."""
    try:
        tree = ast.parse(decode_source(source))
    except (SyntaxError, ValueError):
        return False
    return any(map(_deals, ast.walk(enclosing(tree, row) or tree)))


def _deals(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return _handles_bad_values(name)
        case ast.Assign(targets=[ast.Subscript(slice=index)]):
            return not isinstance(index, ast.Constant | ast.Slice)
    return False


def _handles_bad_values(name: str) -> bool:
    """Whether an operation asks for, leaves out, replaces or selects by such values, so that one is no accident."""
    found = operations.method(name)
    if found is None:
        return False
    row, _ = found
    return row.name in _DEALING or "mask" in row.parameters or name.startswith("nan")  # `nansum` and its like
