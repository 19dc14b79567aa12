import pytest

from tests.codemod.differential.tried import fixed

SOURCE = """import torch
from torch import nn


def loss(x, y, given):
    bce = nn.BCELoss()
    first = bce(x[0].sigmoid(), y[0])
    second = bce(torch.sigmoid(x[1]), y[1])
    return first + second
"""
FUNCTIONAL = "nn.functional.binary_cross_entropy_with_logits("


def test_one_criterion_becomes_that_of_logits_at_all_its_calls() -> None:
    after, _ = fixed(SOURCE, unsafe=True)
    assert after == SOURCE.replace("BCELoss", "BCEWithLogitsLoss").replace(".sigmoid()", "").replace(
        "torch.sigmoid(x[1])", "x[1]"
    )


@pytest.mark.parametrize("other", ["bce(given, y[2])", "bce"])
def test_one_criterion_that_others_read_stays_and_no_call_that_changes_has_it(other: str) -> None:
    after, _ = fixed(SOURCE.replace("first + second", f"first + second, {other}"), unsafe=True)
    assert after.count(FUNCTIONAL) == 2
    assert "bce = nn.BCELoss()" in after
    assert other in after
