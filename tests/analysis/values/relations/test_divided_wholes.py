"""What is counted in all, and what the first of it leave of 1: the union that the Lovász extension divides by."""

import pytest

from tests.analysis.support import assumed, open_

UNION = "x.sum() + (1 - x).cumsum(0)"
SHARE = "x = (x > 0).float()\n    "


def program(union: str, given: str = "") -> str:
    """A tensor that is divided by such a sum."""
    return f"def f(x, y, n: int):\n    {given}return y / ({union})\n"


@pytest.mark.parametrize("given", [SHARE, "x = torch.sigmoid(x)\n    ", "x = (x == n).double()\n    "])
@pytest.mark.parametrize(
    "union", [UNION, "(1 - x).float().cumsum(0) + x.sum()", "(1.0 - x).cumsum(-1) + x.sum()"]
)
def test_a_share_and_what_it_leaves_are_not_both_nothing(given: str, union: str) -> None:
    code = program(union, given)
    assert open_(code) == []
    assert assumed(code) == []


def test_what_is_handed_over_is_taken_for_a_share() -> None:
    assert open_(program(UNION)) == []
    assert assumed(program(UNION)) == [(2, "SL102")]


def test_calls_in_sight_can_show_that_it_is_one() -> None:
    code = f"""
        def _f(x, y):
            return y / ({UNION})
        def g(labels, y, c: int):
            return _f((labels == c).float(), y)
    """
    assert open_(code) == []


@pytest.mark.parametrize(
    ("other", "found"), [("(labels == 1).float()[order]", []), ("labels * 2", [(2, "SL102")])]
)
def test_each_of_the_calls_in_sight_counts(other: str, found: list[tuple[int, str]]) -> None:
    code = f"""
        def _f(x, y):
            return y / ({UNION})
        def g(labels, order, y):
            return _f(labels[order], y), _f({other}, y)
    """
    assert open_(code) == found
    assert len(assumed(code)) == (not found)


@pytest.mark.parametrize(
    ("union", "given"),
    [
        (UNION, "x = torch.tanh(x)\n    "),  # minus 1 and 2 are counted: [-1, -1, 1] leaves 0
        (UNION, "x = x * 2 - 1\n    "),
        ("x.sum() + (1 - y).cumsum(0)", SHARE),
        ("x.sum() + (n - x).cumsum(0)", SHARE),
        ("x.sum() + (x - 1).cumsum(0)", SHARE),
        ("x.sum() - (1 - x).cumsum(0)", SHARE),
        ("x.sum(0) + (1 - x).cumsum(1)", SHARE),  # of columns, beside rows
        ("x[1:].sum() + (1 - x).cumsum(0)", SHARE),
        ("x.sum() + (1 - x)[1:].cumsum(0) * 0", SHARE),
        ("x.mean() + (1 - x).cumsum(0) * n", SHARE),
        ("x.sum() + (1 - x).cumprod(0) - 1", SHARE),
    ],
)
def test_another_sum_can_be_0(union: str, given: str) -> None:
    code = program(union, given)
    assert (2 + given.count("\n"), "SL102") in open_(code)
