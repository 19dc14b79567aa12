"""A count of what reaches an extreme is at least 1 in each row that the extreme was taken of."""

import pytest

from tests.analysis.support import assumed, open_, proved

NONE_PERHAPS = {
    "extremes of columns, counts of rows": "(x == x.amax(0, keepdim=True)).sum(1)",
    "the extreme of all, counts of columns": "(x == x.max()).sum(0)",
    "near the extreme of all": "(x - x.max() > -1).sum(0)",
    "near the extremes of columns": "(x - x.amax(0) > -1).sum(1)",
    "columns at the extremes of rows": "(x.t() == x.amax(0, keepdim=True)).sum(0)",
    "extremes of rows, made a row": "(x == x.max(-1)[0].unsqueeze(0)).sum(-1)",
    "rows in another order": "(x == x.flip(0)).sum(0)",
    "rows moved on": "(x == x.roll(1, 0)).sum(0)",
    "a running total of others": "(x.sort(-1)[0] > x.sort(-1)[0].cumsum(0)).sum(0)",
}
ONE = {
    "extremes of columns, counts of columns": "(x == x.amax(0, keepdim=True)).sum(0)",
    "extremes of rows, counts of rows": "(x == x.max(-1, keepdim=True)[0]).sum(-1)",
    "extremes of rows, made a column": "(x == x.max(1)[0][:, None]).sum(1)",
    "the extreme of all": "(x - x.max() > -1).sum()",
}
ITSELF = {
    "all": "(x == x).sum()",
    "all pairs": "(x.unsqueeze(0) == x.unsqueeze(1)).sum(0)",
}


def _function(count: str) -> str:
    return f"def f(x: torch.Tensor):\n    return 1 / {count}"


@pytest.mark.parametrize("count", NONE_PERHAPS.values(), ids=NONE_PERHAPS)
def test_there_need_be_none_in_other_rows(count: str) -> None:
    assert open_(_function(count))


@pytest.mark.parametrize("count", ONE.values(), ids=ONE)
def test_there_is_one_in_its_row(count: str) -> None:
    assert proved(_function(count))


@pytest.mark.parametrize("count", ITSELF.values(), ids=ITSELF)
def test_that_something_equals_itself_is_assumed_to_be_something(count: str) -> None:
    assert assumed(_function(count))


SCALED = "def f(x: torch.Tensor):\n    n = (x == x.max()).sum()\n    return torch.log({})\n"


@pytest.mark.parametrize("count", ["n * 0.5", "n / 4", "(3 * n / 7)", "n / (len(x) + 1)", "n[..., None] * 2"])
def test_a_positive_share_of_a_count_is_positive(count: str) -> None:
    assert open_(SCALED.format(count)) == []


@pytest.mark.parametrize(
    "count", ["n * -1", "n[..., None] / -2", "n * 1e-40", "n / 1e30 / 1e30", "n.half() * 1e-9", "n * 0"]
)
def test_of_another_multiple_a_count_says_nothing(count: str) -> None:
    assert (3, "SL101") in open_(SCALED.format(count))


def test_a_count_may_be_divided_by_what_is_negative() -> None:
    code = "def f(x: torch.Tensor):\n    return 1 / ((x == x.max()).sum() / torch.where(x < 0, x, -1))\n"
    assert (2, "SL102") in [*proved(code), *open_(code)]
