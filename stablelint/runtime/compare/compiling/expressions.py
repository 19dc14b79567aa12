"""The expression of a line that a node of a captured graph was traced from.

A compiler's stack trace tells the row and where the expression begins, not where it ends: several expressions
may begin there, and the operation tells which is meant.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from stablelint.diagnostic import Position, Span
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.syntax.names import called_name

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
        if start is None or node.col_offset == _bytes(line, start)
    ]
    named = [node for node in found if operation in _names(node)]
    calls = [node for node in found if isinstance(node, ast.Call)]
    chosen = min(named or calls or found, key=_length, default=None)
    if chosen is None or (start is None and not named):
        return Location(filename, row, None, line.strip(), function)
    lines = linecache.getlines(filename)
    end_row, end_offset = chosen.end_lineno or row, chosen.end_col_offset or 0
    end = len(lines[end_row - 1].encode()[:end_offset].decode(errors="replace"))
    begin = len(line.encode()[: chosen.col_offset].decode(errors="replace"))
    text = ast.get_source_segment("".join(lines), chosen) or line.strip()
    span = Span(Position(row, begin + 1), Position(end_row, end + 1))
    return Location(filename, row, span, " ".join(text.split()), function)


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
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return _OPERATORS.get(type(node.op), ())
    if isinstance(node, ast.Compare):
        return _OPERATORS.get(type(node.ops[0]), ())
    return ("getitem",)


def _length(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _bytes(line: str, column: int) -> int:
    return len(line[:column].encode())
