"""The expression of a line that a node of a captured graph was traced from.

A compiler's stack trace tells the row and where the expression begins, not where it ends: several expressions
may begin there, and the operation tells which is meant.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.syntax.names import called_name
from stablelint.syntax.source import Source

_OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("add", "iadd"),
    ast.Sub: ("sub", "isub"),
    ast.Mult: ("mul", "imul"),
    ast.Div: ("truediv", "itruediv", "div"),
    ast.MatMult: ("matmul", "imatmul"),
    ast.Pow: ("pow", "ipow"),
    ast.USub: ("neg",),
    ast.Lt: ("lt",),
    ast.LtE: ("le",),
    ast.Gt: ("gt",),
    ast.GtE: ("ge",),
    ast.Eq: ("eq",),
    ast.NotEq: ("ne",),
}


def expression_at(filename: str, row: int, indent: int | None, operation: str, function: str) -> Location:
    """The expression that begins in `row`, `indent` columns behind its first letter, and stands for `operation`.

    The whole line where no expression of it is known.
    """
    line = linecache.getline(filename, row)
    start = None if indent is None else len(line) - len(line.lstrip()) + indent
    found = [
        node
        for node in _expressions(filename, row)
        if start is None or node.col_offset == len(line[:start].encode())
    ]
    named = [node for node in found if operation in _names(node)]
    calls = [node for node in found if isinstance(node, ast.Call)]
    chosen = min(
        named or calls or found, key=lambda node: (node.end_lineno, node.end_col_offset), default=None
    )
    if chosen is None or (start is None and not named):
        return Location(filename, row, None, line.strip(), function)
    lines = [text.rstrip("\n") for text in linecache.getlines(filename)]
    source = Source(filename, "", ast.Module([], []), lines)
    return Location(filename, row, source.span(chosen), " ".join(source.segment(chosen).split()), function)


def _expressions(filename: str, row: int) -> Iterator[ast.expr]:
    tree = parse_file(filename)
    for node in ast.walk(tree) if tree is not None else ():
        if (
            isinstance(node, ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)
            and node.lineno == row
        ):
            yield node


def _names(node: ast.expr) -> tuple[str, ...]:
    """What the operation of an expression is called."""
    if isinstance(node, ast.Call):
        return (called_name(node).strip("_"),)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
        return _OPERATORS.get(type(node.ops[0] if isinstance(node, ast.Compare) else node.op), ())
    return ("getitem",)
