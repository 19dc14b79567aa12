"""Every entry of the tables, sampled: torch's result for members of the operands is a member of the range."""

import pytest
import torch

from tests.numerics.ranges.cases import CASES
from tests.numerics.ranges.sampled import DTYPES, elementwise_labels, extreme_failures, sampled_failures

torch.set_num_threads(1)


@pytest.mark.parametrize("label", CASES)
def test_the_range_holds_what_torch_computes(label: str) -> None:
    assert not [failure for dtype in DTYPES for failure in sampled_failures(label, dtype)]


@pytest.mark.parametrize("label", elementwise_labels())
def test_the_range_holds_at_the_ends_of_a_format_for_every_length(label: str) -> None:
    assert not [failure for dtype in DTYPES for failure in extreme_failures(label, dtype)]


def test_over_a_hundred_operations_are_sampled() -> None:
    assert len({label.split(" ")[0] for label in CASES}) > 100
