"""An exponent that is lowered before its maximum is taken out."""

import pytest

from tests.analysis.support import discharged_by, function

MAXIMUM = "m = x.max(dim=-1, keepdim=True).values"


@pytest.mark.parametrize(
    "exponent",
    [
        "x - y.abs() - m",
        "x - (m + y.abs())",
        "-y ** 2 + x - m",
        "x - torch.relu(y) - 1 - x.max()",
        "x - (m + 1 + y.exp())",
    ],
)
def test_what_is_lowered_stays_below_its_maximum(exponent: str) -> None:
    code = function(f"torch.exp({exponent})", before=MAXIMUM, parameters="x, y")
    assert "SL201" in discharged_by(code)


@pytest.mark.parametrize("exponent", ["x + y.abs() - m", "x - y - m", "x - (m - y.abs())", "y.abs() - x + m"])
def test_what_is_raised_need_not(exponent: str) -> None:
    code = function(f"torch.exp({exponent})", before=MAXIMUM, parameters="x, y")
    assert "SL201" not in discharged_by(code)
