"""An exponential of what is imaginary is of size 1."""

from __future__ import annotations

import pytest

from tests.analysis.support import discharged_by, function


@pytest.mark.parametrize(
    "line",
    [
        "torch.exp(1j * torch.rand(3))",
        "torch.exp(-2j * math.pi * torch.arange(8).view(-1, 1) / 8)",
        "torch.exp(1j * torch.linspace(0, 3, 4) - 2j)",
        "torch.exp(1j * x.float())",
        "torch.exp(torch.mul(1j, torch.rand(3), out=x))",
    ],
)
def test_an_imaginary_exponent_does_not_overflow(line: str) -> None:
    assert "imaginary" in discharged_by(function(line, before="import math"))["SL201"]


@pytest.mark.parametrize(
    "line", ["torch.exp(1j * x)", "torch.exp(1j * torch.rand(3) + x)", "torch.exp((1 + 1j) * 9)"]
)
def test_what_may_have_a_real_part_may_overflow(line: str) -> None:
    code = function(line)
    assert "imaginary" not in discharged_by(code).get("SL201", set())
