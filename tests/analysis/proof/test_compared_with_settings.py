"""A test that compares a value with a setting tells of the value as long as the setting stays as it is."""

import pytest

from tests.analysis.support import assumed, open_, proved

NORM = "n = x.norm()"


def program(*lines: str, setting: str = "eps=1e-6") -> str:
    """A function of two tensors and a setting, whose body is given line by line."""
    return f"def f(x, y, {setting}):\n" + "".join(f"    {line}\n" for line in lines)


LEFT = {
    "a branch": (NORM, "if n > eps:", "    return y / n", "return y"),
    "its contrary": (NORM, "if n <= eps:", "    return y", "return y / n"),
    "the other way round": (NORM, "if eps < n:", "    return y / n", "return y"),
    "an expression": (NORM, "return y / n if n > eps else y"),
    "an assertion": (NORM, "assert n >= eps", "return y / n"),
    "a number taken out": (NORM, "if n.item() > eps:", "    return y / n", "return y"),
    "all elements": (NORM, "if torch.all(n > eps):", "    return y / n", "return y"),
    "what is made of it": (NORM, "if n < eps:", "    return y", "return y / (2 * n)"),
    "a path that replaces it": (NORM, "if n < eps:", "    n = n + 1.0", "return y / n"),
    "a loop": (NORM, "while n > eps:", "    y = y / n", "    n = n - 1.0", "return y"),
    "a multiple of it": (NORM, "if n > 2 * eps:", "    return y / n", "return y"),
    "one of two tests": (NORM, "if n > eps and y.sum() > 0:", "    return y / n", "return y"),
}


@pytest.mark.parametrize("left", LEFT)
def test_what_a_setting_keeps_off_0_is_assumed(left: str) -> None:
    code = program(*LEFT[left])
    assert "SL102" not in [rule for _, rule in open_(code)]
    assert "SL102" in [rule for _, rule in assumed(code)]
    assert "SL102" not in [rule for _, rule in proved(code)]


@pytest.mark.parametrize("setting", ["eps", "eps=None", "eps=0.0", "eps=-1e-6"])
def test_a_setting_that_is_not_above_0_keeps_nothing_off_it(setting: str) -> None:
    code = program("n = x.sum()", "if n >= eps:", "    return y / n", "return y", setting=setting)
    assert "SL102" in [rule for _, rule in open_(code)]


OTHERWISE = {
    "below it": (NORM, "if n < eps:", "    return y / n", "return y"),
    "behind the join": (NORM, "if n > eps:", "    y = y + 1", "return y / n"),
    "something else": (NORM, "if x.sum() > eps:", "    return y / n", "return y"),
    "any element": (NORM, "if torch.any(x > eps):", "    return y / x", "return y"),
    "one of two tests": (NORM, "if n > eps or y.sum() > 0:", "    return y / n", "return y"),
    "changed in place": (NORM, "if n > eps:", "    n.sub_(1.0)", "    return y / n", "return y"),
    "changed through a view": (NORM, "if n > eps:", "    n.view(-1).zero_()", "    return y / n", "return y"),
    "less of it later": (NORM, "if n > eps:", "    n = n - 1.0", "    return y / n", "return y"),
    "a turn later": (NORM, "while n > eps:", "    n = n - 1.0", "    y = y / n", "return y"),
    "a path that brings 0": (NORM, "if n < eps:", "    n = n * 0.0", "return y / n"),
    "the other branch": (NORM, "if n > eps:", "    return y", "return y / n"),
    "a setting changed before": ("eps = eps - 1.0", NORM, "if n > eps:", "    return y / n", "return y"),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_a_test_tells_of_nothing_else(case: str) -> None:
    assert {"SL102", "SL106"} & {rule for _, rule in open_(program(*OTHERWISE[case]))}


@pytest.mark.parametrize("call", ["f(x, y, 0.0)", "f(x, y, eps=z)", "f(x, y, -1.0)"])
def test_a_call_in_sight_contradicts(call: str) -> None:
    code = program("n = x.sum()", "if n >= eps:", "    return y / n", "return y")
    assert "SL102" in [rule for _, rule in open_(f"{code}\ndef g(x, y, z):\n    return {call}\n")]


HELD = """
    class Scaler:
        def __init__(self, eps=1e-6):
            self.eps = eps
            self.n = 1.0

        def step(self, x):
            self.n = x.norm()
            if self.n > self.eps:
                {line}
                return x / self.n
            return x

        def update(self, x):
            self.n = x.sum()
            {other}
"""


@pytest.mark.parametrize(
    ("line", "other", "is_open"),
    [("pass", "pass", False), ("self.update(x)", "pass", True), ("self.n = x.sum()", "pass", True)],
)
def test_what_an_object_holds_is_forgotten_where_it_may_change(line: str, other: str, is_open: bool) -> None:
    code = HELD.format(line=line, other=other)
    assert bool({"SL102", "SL106"} & {rule for _, rule in open_(code)}) is is_open


def test_a_default_that_leads_elsewhere_is_not_believed_where_the_test_holds() -> None:
    code = program(
        "n = x.abs().sum() + 1.0", "if warm > n:", "    return y / warm", "return y", setting="warm=0"
    )
    assert open_(code) == []
