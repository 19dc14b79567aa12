from __future__ import annotations

import pytest

from tests.codemod.differential.tried import fixed

SUMMED = """import torch


def f(a, b):
    a = a.float()
    first = torch.exp(a)
    {}
    return torch.log(first + torch.exp(b))
"""


@pytest.mark.parametrize("between", ["b = b + 1", "b = a * 2"])
def test_what_stands_where_the_rewrite_does_may_have_been_given_another_value(between: str) -> None:
    assert "torch.logaddexp(a, b)" in fixed(SUMMED.format(between), unsafe=True)[0]


@pytest.mark.parametrize("between", ["a = a + 1", "a[0] = 1"])
def test_what_the_rewrite_computes_later_must_keep_its_value(between: str) -> None:
    assert "logaddexp" not in fixed(SUMMED.format(between), unsafe=True)[0]
