"""Which syntax a place in a file stands for: the function, the blocks around it, the call that ends there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (*FUNCTIONS, ast.ClassDef)


def is_top_level(code: CodeType) -> bool:
    """Whether this is code of a module, or of a cell, outside of all functions."""
    return code.co_name == "<module>" or code.co_name.startswith(_CELL)


_CELL = "<cell line: "  # how IPython calls the code of a statement of a cell


def owner_of(tree: ast.Module, code: CodeType) -> tuple[ast.AST, str | None] | None:
    """The function or module that `code` was compiled from, and the class around it."""
    if is_top_level(code):
        return tree, None
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, FUNCTIONS) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node, inside
        inner = node.name if isinstance(node, ast.ClassDef) else inside
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))
    return None


def enclosing(tree: ast.AST, row: int) -> Function | None:
    """The innermost function around a row; None outside of any."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, Function) and node.lineno <= row <= (node.end_lineno or 0)
    ]
    return around[-1] if around else None  # the walk is breadth first: inner functions come later


def blocks_around(owner: ast.AST, row: int, column: int) -> list[tuple[list[ast.stmt], int]]:
    """The blocks of statements around a place, outermost first, each with the index of its statement there.

    Not those of functions and classes within the owner.
    """
    found: list[tuple[list[ast.stmt], int]] = []
    blocks: list[list[ast.stmt]] = [list(getattr(owner, "body", []))]
    while blocks:
        block = blocks.pop()
        index = next((index for index, one in enumerate(block) if _covers(one, row, column)), None)
        if index is not None:
            found.append((block, index))
            blocks = [] if isinstance(block[index], SCOPES) else list(_blocks_of(block[index]))
    return found


def call_that_ends_at(tree: ast.Module | None, row: int | None, column: int | None) -> ast.Call | None:
    """The call whose closing bracket stands there: no other one's does."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == (row, column):
            return node
    return None


def operands_of(node: ast.AST | None) -> Iterator[ast.expr]:
    """What an operation takes as it is written, in its order: of a call what its method is called on comes first."""
    match node:
        case ast.BinOp(left, _, right):
            yield from (left, right)
        case ast.Compare(left, _, rights):
            yield from (left, *rights)
        case ast.AugAssign(target, _, value):
            yield from (target, value)
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Subscript(value, index):
            yield value
            yield from index.elts if isinstance(index, ast.Tuple) else (index,)
        case ast.Call(function, arguments, keywords):
            if isinstance(function, ast.Attribute):
                yield function.value
            yield from arguments
            yield from (one.value for one in sorted(keywords, key=lambda one: one.arg not in _FIRST))
        case ast.Return(value) | ast.Expr(value) | ast.Assign(_, value) if value is not None:
            yield from operands_of(value)


_FIRST = ("input", "self")  # what torch calls the operand that comes first, wherever a call names it


def _blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        yield handler.body


def _covers(node: ast.stmt, row: int, column: int) -> bool:
    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= (row, column) < end
