"""A check that refuses what is below 0 alone lets the 0 in."""

from __future__ import annotations

import pytest

from ..support import likely

_DEVIANCE = """
def deviance(y: torch.Tensor, mu: torch.Tensor):
    {check}
    return (y * torch.log(y / mu.clamp_min(0.1))).sum()
"""


@pytest.mark.parametrize(
    ("check", "reported"),
    [
        ("if torch.any(y < 0): raise ValueError('negative')", True),
        ("assert (y >= 0).all()", True),
        ("if torch.any(y <= 0): raise ValueError('not positive')", False),
        ("assert (y > 0).all()", False),
    ],
)
def test_a_share_that_a_check_lets_be_0(check: str, reported: bool) -> None:
    assert bool(likely(_DEVIANCE.format(check=check))) is reported


@pytest.mark.parametrize(
    ("line", "codes"),
    [("x / scale", ["SL102"]), ("torch.log(scale)", ["SL101"]), ("torch.exp(scale)", [])],
)
def test_what_the_0_breaks_is_reported(line: str, codes: list[str]) -> None:
    code = f"""
    def scaled(x, scale: torch.Tensor):
        if (scale < 0).any():
            raise ValueError("a scale is not negative")
        return {line}
    """
    assert [rule for _, rule in likely(code)] == codes


def test_a_number_that_one_path_brings_makes_the_difference_0() -> None:
    code = """
    def variance(alphas: torch.Tensor, t: int):
        before = alphas[t - 1] if t > 0 else torch.tensor(1.0)
        return torch.log(1 - before)
    """
    assert likely(code) == [(3, "SL101")]
    assert likely(code.replace("tensor(1.0)", "tensor(0.5)")) == []
