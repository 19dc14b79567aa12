"""Probes in a tree change nothing but what is recorded."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.runtime.verify.probe.plan import Target
from stablelint.runtime.verify.probe.transform import HELPERS, insert_probes


def _target(source: str, text: str, *operands: str) -> Target:
    for row, line in enumerate(source.split("\n"), 1):
        if text in line:
            column = line.index(text) + 1
            return Target(text, (row, column), (row, column + len(text)), operands)
    raise AssertionError(text)


def _run(source: str, *targets: Target) -> tuple[dict[str, object], list[tuple[int, int, object]]]:
    """The module's names after running it with probes, and what was seen: target, operand, value."""
    probed = insert_probes(source.encode(), "m.py", targets)
    seen: list[tuple[int, int, object]] = []

    def see(number: int, index: int, value: object) -> object:
        seen.append((number, index, value))
        return value

    def begin(number: int, *extra: object) -> None:
        for index, thunk in zip(extra[::2], extra[1::2], strict=True):
            assert isinstance(index, int)
            assert callable(thunk)
            try:
                seen.append((number, index, thunk()))
            except NameError:
                continue

    names: dict[str, object] = {
        HELPERS["see"]: see,
        HELPERS["hold"]: see,
        HELPERS["begin"]: begin,
        HELPERS["end"]: lambda number, frame, value: value,
        HELPERS["snap"]: begin,
        HELPERS["enter"]: lambda number, scope: None,
    }
    probed.tree.body = [node for node in probed.tree.body if not _is_helper_import(node)]
    exec(compile(probed.tree, "m.py", "exec"), names)
    return names, seen


def _is_helper_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stablelint")


def test_operands_are_seen_once_and_in_place() -> None:
    source = "calls = []\ndef f(v):\n    calls.append(v)\n    return v\nr = f(3) / (f(4) + 1)\n"
    names, seen = _run(source, _target(source, "f(3) / (f(4) + 1)", "f(3)", "f(4) + 1"))
    assert names["r"] == 3 / 5
    assert names["calls"] == [3, 4]
    assert seen == [(0, 0, 3), (0, 1, 5)]


def test_class_bodies_methods_and_walrus() -> None:
    source = (
        "class A:\n    size = abs(-4)\n    def __init__(self):\n        self.eps = 2\n"
        "    def f(self, x):\n        return max((y := x + self.eps), y)\nr = A().f(1)\ns = A.size\n"
    )
    names, seen = _run(
        source,
        _target(source, "max((y := x + self.eps), y)", "x + self.eps", "x"),
        _target(source, "abs(-4)", "-4"),
    )
    assert (names["r"], names["s"]) == (3, 4)
    assert (0, 0, 3) in seen
    assert (0, 1, 1) in seen


def test_augmented_assignment_sees_the_value_before() -> None:
    source = "x = 8\ny = 2\nx /= y\n"
    names, seen = _run(source, _target(source, "x /= y", "x", "y"))
    assert names["x"] == 4.0
    assert sorted(seen) == [(0, 0, 8), (0, 1, 2)]


def test_nested_targets_and_comprehensions() -> None:
    source = "z = 3\nr = sum(abs(v - z) for v in range(4)) + abs(-z)\n"
    names, seen = _run(
        source,
        _target(source, "abs(v - z)", "v - z"),
        _target(source, "abs(-z)", "-z"),
        _target(source, "z = 3", "z"),
    )
    assert names["r"] == 9
    assert [value for number, _, value in seen if number == 0] == [-3, -2, -1, 0]


def test_places_and_docstring_survive() -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\nx = 1\nraise_here = 1 / (x - 1)\n'
    with pytest.raises(ZeroDivisionError) as caught:
        _run(source, _target(source, "1 / (x - 1)", "x - 1"))
    frame = caught.traceback[-1]
    assert frame.lineno + 1 == 4


def test_columns_count_characters() -> None:
    source = "é = 4\nr = [('äöü', abs(-é))]\n"
    names, seen = _run(source, _target(source, "abs(-é)", "-é"))
    assert names["r"] == [("äöü", 4)]
    assert seen == [(0, 0, -4)]


_ATOMS = st.sampled_from(["a", "b", "2", "c[0]", "-a"])
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"abs({text})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"[i + {t[0]} for i in [{t[1]}]][0]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} > 0 else {t[2]})"),
    ),
    max_leaves=8,
)


@given(_EXPRESSIONS)
def test_no_expression_changes_its_value(text: str) -> None:
    source = f"a, b, c = 3, -5, [7]\nr = {text}\n"
    parts = sorted({ast.unparse(n) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.expr)})
    plain: dict[str, object] = {}
    exec(source, plain)
    row, column = 2, 5
    target = Target("t", (row, column), (row, column + len(text)), tuple(parts))
    inner = text[1:-1] if text.startswith("(") else text
    stripped = Target("t", (row, column + 1), (row, column + 1 + len(inner)), tuple(parts))
    names, _ = _run(source, target, stripped)
    assert names["r"] == plain["r"]
