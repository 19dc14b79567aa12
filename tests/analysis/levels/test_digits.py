"""Digits that nobody misses: settings, undone logarithms, bounds for double precision, cosines."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from ..support import levels, likely, possible


@pytest.mark.parametrize(
    ("operand", "level"),
    [
        ("torch.tensor(0.5 * width)", Level.POSSIBLE),
        ("torch.Tensor([1.0])", Level.POSSIBLE),
        ("x", Level.LIKELY),
        ("x.new_tensor([1.0]) * x", Level.LIKELY),
    ],
)
def test_what_is_made_of_numbers_is_a_setting(tmp_path: Path, operand: str, level: Level) -> None:
    code = f"def inverse(x: torch.Tensor, width: float):\n    return torch.exp({operand}) - 1\n"
    assert levels(tmp_path, code)["SL209"] == {level}


def test_what_was_exponentiated_after_its_logarithm_is_as_it_was() -> None:
    code = "def f(x: torch.Tensor):\n    return torch.log({}.exp().mean(dim=-1))\n"
    assert (2, "SL204") in likely(code.format("x"))
    assert (2, "SL204") in possible(code.format("x.log()"))


@pytest.mark.parametrize(("bound", "level"), [(300, Level.POSSIBLE), (2000, Level.LIKELY)])
def test_a_bound_within_double_precision_was_set_for_it(tmp_path: Path, bound: int, level: Level) -> None:
    code = f"""
    def weight(x: torch.Tensor):
        if x.dtype != torch.float64:
            raise ValueError("double precision only")
        return x.clamp(-{bound}, {bound}).exp()
    """
    assert levels(tmp_path / "told", code)["SL201"] == {level}
    untold = code.replace("x.dtype != torch.float64", "x.ndim != 2")
    assert levels(tmp_path / "untold", untold)["SL201"] == {Level.LIKELY}


@pytest.mark.parametrize(
    ("product", "level"),
    [
        ("torch.matmul(F.normalize(x), F.normalize(y).T)", Level.POSSIBLE),
        ("torch.matmul(torch.tanh(x), torch.tanh(y).T)", Level.LIKELY),
        (
            "torch.cat([F.normalize(x) @ F.normalize(y).T, F.normalize(x) @ F.normalize(x).T], 1)",
            Level.POSSIBLE,
        ),
        ("torch.cat([F.normalize(x) @ F.normalize(y).T, torch.tanh(x) @ torch.tanh(x).T], 1)", Level.LIKELY),
        ("30 * (torch.diagonal(F.normalize(x) @ F.normalize(y).T) - 0.2)", Level.POSSIBLE),
        ("30 * (torch.diagonal(torch.tanh(x) @ F.normalize(y).T) - 0.2)", Level.LIKELY),
    ],
)
def test_cosines_over_a_temperature_do_not_run_away(tmp_path: Path, product: str, level: Level) -> None:
    code = f"""
    def contrast_loss(x: torch.Tensor, y: torch.Tensor):
        return torch.exp({product} / 0.1).sum()
    """
    assert levels(tmp_path, code)["SL201"] == {level}


@pytest.mark.parametrize(
    ("other", "level"), [("torch.cat(gathered(x))", Level.POSSIBLE), ("x", Level.LIKELY)]
)
def test_what_was_gathered_from_other_devices_is_normalised_there(
    tmp_path: Path, other: str, level: Level
) -> None:
    code = f"""
    def contrast_loss(x: torch.Tensor, flag: bool, kept: torch.Tensor, gathered):
        keys = {other} if flag else F.normalize(x)
        near = torch.exp(F.normalize(x) @ keys.T / 0.1) * kept
        return near / near.sum(1, keepdim=True)
    """
    assert levels(tmp_path, code)["SL201"] == {level}


@pytest.mark.parametrize(
    ("product", "shown"),
    [("F.normalize(x) @ F.normalize(y).T", False), ("torch.tanh(x) @ torch.tanh(y).T", True)],
)
def test_the_exponentials_of_cosines_do_not_all_underflow(product: str, shown: bool) -> None:
    code = f"""
    def margin_loss(x: torch.Tensor, y: torch.Tensor):
        logits = {product}
        return torch.log(torch.exp(30 * logits.diagonal()) + torch.exp(30 * logits).sum(1))
    """
    assert bool(likely(code)) is shown


@pytest.mark.parametrize(("lift", "level"), [(" + 1e-8", Level.POSSIBLE), (" * 2", Level.LIKELY)])
def test_a_small_number_added_to_both_keeps_a_form_off_zero(tmp_path: Path, lift: str, level: Level) -> None:
    code = f"""
    def divergence_loss(p: torch.Tensor, q: torch.Tensor):
        p = p{lift}
        q = q{lift}
        return (p * torch.log(p / q)).sum()
    """
    assert levels(tmp_path, code)["SL211"] == {level}


@pytest.mark.parametrize(
    ("exponent", "level"),
    [
        ("self.temperature * (x - x.max())", Level.POSSIBLE),
        ("temperature * (x - x.max())", Level.POSSIBLE),
        ("self.temperature * x", Level.LIKELY),
    ],
)
def test_a_setting_scales_what_its_maximum_was_taken_from(
    tmp_path: Path, exponent: str, level: Level
) -> None:
    code = f"""
    class Planner:
        def __init__(self, config):
            self.temperature = config.temperature

        def weights(self, x: torch.Tensor, temperature: float):
            score = torch.exp({exponent})
            return score * x / score.sum()
    """
    assert levels(tmp_path, code)["SL201"] == {level}
