"""Statements without influence on what is asked for."""

import ast
from collections.abc import Iterable

import pytest

from stablelint.syntax.slicing import idle_statements


def _results(statement: ast.stmt) -> Iterable[ast.expr]:
    return [statement.value] if isinstance(statement, ast.Return) and statement.value is not None else []


@pytest.mark.parametrize(
    ("text", "idle"),
    [
        ("a = f(x)\nb = g(x)\nreturn h(a)", ["b = g(x)"]),
        ("a = f(x)\nb = g(a)\nreturn h(b)", []),
        ("b = g(a)\na = f(x)\nreturn h(b)", ["a = f(x)"]),
        ("for y in x:\n    b = g(a)\n    a = f(x)\nreturn h(b)", []),  # the next turn reads it
        ("try:\n    b = g(a)\nexcept E:\n    b = a\n    a = f(x)\nreturn h(b)", []),
        ("if x:\n    a = f(x)\nelse:\n    b = g(x)\nreturn h(a)", ["b = g(x)"]),
        ("a, b = f(x)\nc = g()\nreturn h(b)", ["c = g()"]),
        ("a[0] = f(x)\nb.w = g(x)\nreturn h(a)", ["b.w = g(x)"]),
        ("b.w = g(x)\nreturn h(y.w)", []),
        ("b.w = g(x)\nreturn h(getattr(b, 'w'))", []),
        ("a += f(x)\nb: int = g(x)\nreturn h(a)", ["b: int = g(x)"]),
        ("a.fill(f(x))\nb.copy(g(y))\nreturn h(a)", ["b.copy(g(y))"]),
        ("a = f(x)\nif a:\n    b = g(x)\nreturn h(x)", ["b = g(x)"]),
        ("def inner():\n    return a\na = f(x)\nreturn h(x)", []),
        ("match v:\n    case a.b:\n        c = g(x)\na = f(x)\nreturn h(x)", ["c = g(x)", "a = f(x)"]),
        ("a = f(x)\nreturn a", ["return a"]),
    ],
)
def test_what_does_not_reach_a_call_that_is_returned(text: str, idle: list[str]) -> None:
    body = ast.parse(text).body
    found = idle_statements(body, _results)
    statements = [node for top in body for node in ast.walk(top) if id(node) in found]
    assert [ast.unparse(node) for node in statements] == idle


def test_calls_beside_what_is_asked_for() -> None:
    body = ast.parse("a = f(g(x))\nb = f(g(a))\nf(g(a))").body
    calls = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Call)]
    asked = {id(node): node.args for node in calls if ast.unparse(node.func) == "f"}

    def passed(statement: ast.stmt) -> Iterable[ast.expr]:
        return [part for node in ast.walk(statement) for part in asked.get(id(node), ())]

    found = idle_statements(body, passed)
    assert [ast.unparse(node) for node in calls if id(node) in found] == ["f(g(a))", "f(g(a))"]
