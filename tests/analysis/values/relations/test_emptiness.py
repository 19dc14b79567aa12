"""A quotient has no element where its denominator counts the elements of its numerator, and there are none."""

import pytest

from tests.analysis.support import function, proved

EMPTY = [
    "torch.arange(n) / n",
    "(torch.arange(n).float() + 0.5) / n",
    "torch.meshgrid(torch.arange(m), torch.arange(n))[1] / n",
    "torch.rand(3, n) * x / n",
    "torch.zeros((n, m))[None] / n",
    "torch.linspace(0, 1, n) / n",
]
NOT_EMPTY = [
    "torch.arange(n).sum() / n",
    "torch.arange(n + 1) / n",
    "torch.arange(m) / n",
    "torch.cat([torch.ones(n), x]) / n",
    "torch.ones(n) @ x / n",
    "x.type_as(torch.arange(n)) / n",
    "x.new_empty(3).bernoulli_(n).div_(n)",
]


@pytest.mark.parametrize("line", EMPTY)
def test_nothing_is_divided_where_there_is_nothing(line: str) -> None:
    assert [code for _, code in proved(function(line, parameters="x, m, n"))] == ["SL102"]


@pytest.mark.parametrize("line", NOT_EMPTY)
def test_what_has_an_element_all_the_same_is_divided_by_0(line: str) -> None:
    assert proved(function(line, parameters="x, m, n")) == []
