"""Where an expression that is too long for its line is cut: before its operators, or before the links of a chain."""

from __future__ import annotations

import ast
import re

_KEY = re.compile(r"""((["'])[^"'\\]*\2: |\w+=(?!=))""")  # what may stand before a value in brackets
_SUMS = {ast.Add: "+", ast.Sub: "-"}
_PRODUCTS = {ast.Mult: "*", ast.Div: "/", ast.MatMult: "@"}


def expression_of(text: str) -> ast.expr | None:
    """The tree of an expression whose columns count characters; None for text of other kinds."""
    if not text.isascii():  # columns of a tree count bytes
        return None
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def cuts(text: str) -> list[int]:
    """The columns of the cuts of an expression, of the space before an operator or the dot before a link; none of others.

    A sum is cut into its terms, a product into its factors, a choice before `if` and `else`; a chain has two links at
    least. A key, or the name of an argument, may stand before the expression.
    """
    key = _KEY.match(text)
    lead = key.end() if key is not None else 0
    text = text[lead:]
    match expression_of(text):
        case ast.IfExp(test=test, body=body):
            places = [text.index(" ", one.end_col_offset or 0) for one in (body, test)]
        case ast.BinOp() as node:
            places = _operators(text, node, _SUMS) or _operators(text, node, _PRODUCTS)
        case ast.Call() as node:
            places = dots if len(dots := links(text, node)) > 1 else []
        case _:
            return []
    return [lead + place for place in sorted(places)]


def _operators(text: str, node: ast.expr, signs: dict[type[ast.operator], str]) -> list[int]:
    places: list[int] = []
    while isinstance(node, ast.BinOp) and type(node.op) in signs:
        left = node.left.end_col_offset or 0
        sign = text[left : node.right.col_offset].find(signs[type(node.op)])
        if text[left : left + sign] != " ":
            return []  # behind parentheses, or without a space
        places.append(left)
        node = node.left
    return places


def links(text: str, node: ast.expr) -> list[int]:
    """The columns of the dots of a chain of calls on another."""
    dots: list[int] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        if isinstance(node, ast.Call | ast.BinOp):
            dots.append(text.index(".", node.end_col_offset or 0))
    return dots
