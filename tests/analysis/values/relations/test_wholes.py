"""Parts of what is at least as large lie in [0, 1], or in [-1, 1]."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.support import open_, proved

SHARES = [
    ("a, b = x.abs(), y.exp()", "a / (a + b + 1e-6)"),
    ("a, b = x.abs(), y ** 2", "a / (b + 1e-6 + a)"),
    ("a = x.relu() + 1e-4", "a / a.sum()"),
    ("a = x.relu() + 1e-4", "a / a.sum(-1, keepdim=True)"),
    ("a, b = x, y", "a / torch.sqrt(a ** 2 + b ** 2 + 1e-6)"),
    ("a, b = x, y", "a / (torch.sqrt(a * a + b * b) + 1e-5)"),
    ("a = x", "a / (a.abs() + 1)"),
    ("a, b = x.abs(), y.abs()", "a / torch.maximum(a, b).clamp(min=1e-6)"),
]
OTHERS = [
    ("a = x.relu() + 1e-4", "a / a.sum(1)"),  # of another row, where the matrix is square
    ("a, b = x, y", "a / (a + b.abs() + 1e-6)"),
    ("a, b = x, y.abs()", "a / (a.abs().clamp(max=1) + 1e-6)"),
    ("a, b = x, y", "a / (torch.sqrt((a - b) ** 2 + b ** 2) + 1e-5)"),
    ("a, b = x.abs(), y.abs()", "a / (a.T + b + 1e-6)"),
    ("a, b = x.half(), y", "a / torch.sqrt(a ** 2 + b ** 2 + 1e-12)"),  # squares of halves vanish early
    (
        "a, b = x, y",
        "a / (torch.sqrt(a * a + b * b) + 1e-30)",
    ),  # of tiny numbers, whose squares have no digits
]


def program(named: str, quotient: str) -> str:
    """The logarithm of what is left of a number above 1."""
    return f"def f(x: torch.Tensor, y: torch.Tensor):\n    {named}\n    return torch.log(1.5 - {quotient})\n"


@pytest.mark.parametrize(("named", "quotient"), SHARES)
def test_a_part_of_a_whole_is_no_larger(named: str, quotient: str) -> None:
    assert (3, "SL101") in proved(program(named, quotient))


@pytest.mark.parametrize(("named", "quotient"), OTHERS)
def test_what_may_be_smaller_bounds_nothing(named: str, quotient: str) -> None:
    assert (3, "SL101") not in proved(program(named, quotient))


def test_the_cosine_of_a_polar_angle_has_an_angle() -> None:
    code = (
        "def f(x, y, z):\n    r = torch.sqrt(x ** 2 + y ** 2 + z ** 2) + 1e-5\n    return torch.acos(z / r)\n"
    )
    with torch.no_grad():
        x, y, z = torch.randn(3, 1000)
    assert not torch.acos(z / (torch.sqrt(x**2 + y**2 + z**2) + 1e-5)).isnan().any()
    off = code.replace("    r =", "    with torch.no_grad():\n        r =").replace(
        "    return", "        return"
    )
    assert "SL104" not in {rule for _, rule in open_(off)}


@given(
    st.lists(st.floats(-(2.0**60), 2.0**60, width=32), min_size=1, max_size=4),
    st.sampled_from(["float32", "float64"]),
)
def test_rounding_keeps_a_leg_within_its_hypotenuse(legs: list[float], dtype: str) -> None:
    """Of legs whose squares are normal numbers."""
    sides = torch.tensor(legs, dtype=getattr(torch, dtype))
    sides = torch.where(sides.abs() < 2.0**-63, torch.ones_like(sides), sides)
    total = sides[0] ** 2
    for side in sides[1:]:
        total = total + side**2
    assert (sides.abs() / total.sqrt() <= 1).all()
