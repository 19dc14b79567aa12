"""Pairs that a comparison puts in order."""

import ast

import pytest

from stablelint.syntax.swap import ordered_pair


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("(x, y) if x < y else (y, x)", ("minimum", "maximum")),
        ("(y, x) if x <= y else (x, y)", ("maximum", "minimum")),
        ("(x, y) if x > y else (y, x)", ("maximum", "minimum")),
        ("(y, x) if x >= y else (x, y)", ("minimum", "maximum")),
        ("(a[0], b.c) if a[0] < b.c else (b.c, a[0])", ("minimum", "maximum")),
        ("(x, y) if x < z else (y, x)", None),
        ("(x, y) if x == y else (y, x)", None),
        ("(x, y) if x < y < z else (y, x)", None),
        ("(x, y) if x < y else (x, y)", None),
        ("x if x < y else y", None),
    ],
)
def test_a_pair_in_order(text: str, order: tuple[str, str] | None) -> None:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.IfExp)
    assert ordered_pair(node) == order
