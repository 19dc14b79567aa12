"""An exponent that is lowered before its maximum is taken out, or that the larger of it and something is."""

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


@pytest.mark.parametrize(
    "exponent",
    [
        "x - x.clamp(min=0)",
        "-x - (-x).clamp(min=0)",
        "x - torch.clamp(x, 0)",
        "x - torch.relu(x)",
        "x - x.clamp_min(y)",
        "y - x.clamp_min(y)",
        "x - torch.maximum(x, y)",
        "torch.minimum(x, y) - x",
        "x.clamp(max=1) - x",
        "x.clamp(max=y) - x.clamp(min=y)",
    ],
)
def test_what_is_bounded_from_below_is_no_smaller(exponent: str) -> None:
    assert "SL201" in discharged_by(function(f"torch.exp({exponent})", parameters="x, y"))


@pytest.mark.parametrize(
    "exponent",
    [
        "x.clamp(min=0) - x",
        "x - x.clamp(max=0)",
        "x - x.clamp(0, 1)",
        "x - y.clamp(min=0)",
        "x - x.half().clamp(min=0)",
        "x - torch.minimum(x, y)",
        "x.clamp(min=1) - x.clamp(max=y)",
    ],
)
def test_other_differences_may_be_positive(exponent: str) -> None:
    assert "SL201" not in discharged_by(function(f"torch.exp({exponent})", parameters="x, y"))
