"""A comprehension over a tuple that is written out makes each of its elements."""

import pytest

from tests.analysis.support import discharged_by, unguarded

MADE = """
def f(x, y):
    a, b = {}
    return a.log(), b.log()
"""


@pytest.mark.parametrize(
    "made",
    [
        "[t.clamp_min(1e-5) for t in (x, y)]",
        "(t.clamp_min(1e-5) for t in [x, y])",
        "tuple(t.clamp_min(1e-5) for t in (x, y))",
        "[t + 1 for t in (x.abs(), y.exp().clamp(max=3))]",
    ],
)
def test_what_every_turn_makes_is_known(made: str) -> None:
    code = MADE.format(made)
    assert "SL101" in discharged_by(code)
    assert [line for line, code in unguarded(code) if code == "SL101"] == []


def test_each_turn_has_an_element_of_its_own() -> None:
    assert unguarded(MADE.format("[t + 1 for t in (x.abs(), y)]")) == [(3, "SL101")]


def test_a_turn_that_is_left_out_leaves_nothing_known() -> None:
    assert unguarded(MADE.format("[t.clamp_min(1e-5) for t in (x, y) if t.any()]")) == [
        (3, "SL101"),
        (3, "SL101"),
    ]


def test_the_name_of_the_turn_is_the_comprehensions_own() -> None:
    code = """
    def f(t, x, y):
        t = t.clamp_min(1e-5)
        a, b = [t.relu() for t in (x, y)]
        return t.log()
    """
    assert not unguarded(code)


def test_an_object_that_changes_is_not_known_to_a_generator_that_is_run_later() -> None:
    code = """
    class Count:
        def __init__(self, known):
            self.known, self.offset = known, 1

        def logs(self, x):
            self.offset += 1
            return show(*(torch.log(x.abs() + self.offset) for _ in self.known.items()))

    def use(x):
        return Count({}).logs(x)
    """
    assert [rule for _, rule in unguarded(code)] == ["SL101"]
