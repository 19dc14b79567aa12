"""Zeros that ordinary data does not bring, though the interval holds them."""

import pytest

from tests.analysis.support import violated

MODULE = """
import numpy as np
from torch import nn


class Unit(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter({begun})

    def forward(self, x):
        return x / {measure}
"""


@pytest.mark.parametrize("begun", ["torch.rand(size)", "torch.randn(size, size)", "torch.ones(size)"])
@pytest.mark.parametrize("measure", ["self.weight.norm()", "torch.linalg.norm(self.weight)"])
def test_parameters_that_do_not_begin_as_zeros_are_all_0_by_coincidence(begun: str, measure: str) -> None:
    assert violated(MODULE.format(begun=begun, measure=measure)) == []


@pytest.mark.parametrize("begun", ["torch.zeros(size)", "torch.full((size,), 0.0)", "0 * torch.rand(size)"])
def test_those_that_begin_as_zeros_have_a_norm_of_0(begun: str) -> None:
    assert violated(MODULE.format(begun=begun, measure="self.weight.norm()")) == [(11, "SL102")]


def test_the_larger_of_a_measure_and_an_argument_is_0_only_where_the_argument_is() -> None:
    code = """
        def clip(x, limit):
            return limit / max(x.norm(), limit)
        """
    assert violated(code) == []
    assert violated(code.replace("max(x.norm(), limit)", "max(x.norm(), 0.0)")) == [(2, "SL102")]


@pytest.mark.parametrize(
    "counted", ["np.arange({start}, 9 * {start}, {start})", "torch.arange({start}, 9 * {start})"]
)
def test_numbers_from_a_size_on_hold_0_only_where_it_is_0(counted: str) -> None:
    code = "import numpy as np\ndef mean(x):\n    return x.cumsum(1) / torch.as_tensor({})\n"
    assert violated(code.format(counted.format(start="x.size(1)"))) == []
    assert violated(code.format(counted.format(start="0").replace("0, 0)", "0, 2)"))) == [(3, "SL102")]
