"""Infinities that a sigmoid, an exponential or a quotient further on turns into numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from ..support import levels


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("torch.exp(-(share.log() / width) ** 2)", Level.POSSIBLE),
        ("share.log().sub(width).sigmoid()", Level.POSSIBLE),
        ("torch.exp(share.log() - width)", Level.POSSIBLE),
        ("torch.exp(-share.log())", Level.LIKELY),  # inf
        ("share.log() * width", Level.LIKELY),
        ("torch.exp(width * share.log())", Level.LIKELY),  # 0 * -inf
    ],
)
def test_what_bears_the_logarithm_of_zero(tmp_path: Path, line: str, level: Level) -> None:
    code = f"""
    def _kernel(x: torch.Tensor, width: float):
        share = x.relu()
        return {line}
    """
    assert levels(tmp_path, code)["SL101"] == {level}


def test_each_use_of_the_name_must_bear_it(tmp_path: Path) -> None:
    code = """
    def _fused(x: torch.Tensor, width: float):
        scores = torch.log(x.relu()) - width
        {then}
        return torch.sigmoid(scores)
    """
    assert levels(tmp_path / "borne", code.format(then="pass"))["SL101"] == {Level.POSSIBLE}
    assert levels(tmp_path / "read", code.format(then="x = x + scores.mean()"))["SL101"] == {Level.LIKELY}


def test_a_gradient_is_not_borne(tmp_path: Path) -> None:
    code = """
    def kernel_loss(x: torch.Tensor):
        return torch.sigmoid(x.relu().log()).sum()
    """
    assert levels(tmp_path, code)["SL101"] == {Level.LIKELY}


def test_a_quotient_by_an_infinite_exponential_is_zero(tmp_path: Path) -> None:
    code = """
    {decorator}
    def gate(x: torch.Tensor):
        return 1 / (1 + torch.exp(100 * torch.tanh(x)))
    """
    assert levels(tmp_path / "free", code.format(decorator="@torch.no_grad()"))["SL201"] == {Level.POSSIBLE}
    assert levels(tmp_path / "felt", code.format(decorator=""))["SL201"] == {Level.LIKELY}
