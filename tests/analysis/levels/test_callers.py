"""What callers pass for the logarithm of a scale, and defaults that a function refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from ..support import levels

ENCODER = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def reparameterize(self, mu, logvar):
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        hidden = self.body(x)
        logvar = {logvar}
        return self.reparameterize(hidden, logvar)
"""


@pytest.mark.parametrize(
    ("logvar", "level"),
    [
        ("self.norm(hidden)", Level.POSSIBLE),
        ("hidden.clamp(max=10)", Level.POSSIBLE),
        ("self.body(hidden)", Level.LIKELY),
    ],
)
def test_a_logarithm_is_what_callers_without_a_finding_of_their_own_pass(
    tmp_path: Path, logvar: str, level: Level
) -> None:
    found = levels(tmp_path, ENCODER.format(logvar=logvar))
    assert found.get("SL201", {Level.POSSIBLE}) == {level}


@pytest.mark.parametrize(
    ("place", "level"), [("[step.long()]", Level.POSSIBLE), ("[:, 1:]", Level.LIKELY), ("", Level.LIKELY)]
)
def test_a_logarithm_looked_up_for_a_step_is_of_a_schedule(tmp_path: Path, place: str, level: Level) -> None:
    code = f"""
    class Diffusion(nn.Module):
        def forward(self, x, step: torch.Tensor):
            mean, log_variance = self.head(x)
            return mean * torch.exp(0.5 * log_variance{place})
    """
    assert levels(tmp_path, code)["SL201"] == {level}


@pytest.mark.parametrize(
    ("test", "level"),
    [
        ("if smoothing <= 0: raise ValueError(smoothing)", Level.POSSIBLE),
        ("if x.ndim > 2: raise ValueError(x)", Level.LIKELY),
    ],
)
def test_a_default_that_is_refused_does_not_arrive(tmp_path: Path, test: str, level: Level) -> None:
    code = f"""
    def pair_loss(x: torch.Tensor, smoothing: float = 0.0):
        {test}
        return x - torch.log(torch.tensor(smoothing))
    """
    assert levels(tmp_path, code)["SL101"] == {level}


def test_a_sequence_is_unpacked_on_the_path_that_yields_one(tmp_path: Path) -> None:
    code = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 8)

        def encode(self, x):
            hidden = self.body(x)
            if self.training:
                return hidden, torch.tanh(hidden)
            return hidden

        def forward(self, x):
            mu, log_var = self.encode(x)
            return mu + log_var.exp()
    """
    assert "SL201" not in levels(tmp_path, code)


@pytest.mark.parametrize(
    ("base", "given", "level"),
    [
        ("x.norm(dim=1)", "alpha: float = 2.0", Level.POSSIBLE),
        ("x.norm(dim=1)", "alpha: float", Level.LIKELY),
        ("(1 - x.sigmoid())", "alpha: float = 2.0", Level.LIKELY),
    ],
)
def test_the_power_of_a_norm_is_what_its_default_says(
    tmp_path: Path, base: str, given: str, level: Level
) -> None:
    code = f"""
    class Alignment(nn.Module):
        def __init__(self, {given}):
            super().__init__()
            self.alpha = alpha

        def forward(self, x):
            return {base}.pow(self.alpha).mean()
    """
    assert levels(tmp_path, code)["SL110"] == {level}


@pytest.mark.parametrize(
    ("refused", "level"),
    [
        ("(m & (x <= 0)).any()", Level.POSSIBLE),
        ("bool((m & (~torch.isfinite(x) | (x <= 0))).any())", Level.POSSIBLE),
        ("(m & (x <= y)).any()", Level.LIKELY),
        ("(y & (x <= 0)).any()", Level.LIKELY),
    ],
)
def test_what_a_mask_takes_was_refused_before_where_it_is_0(
    tmp_path: Path, refused: str, level: Level
) -> None:
    program = f"""
    def slope(a: torch.Tensor, b: torch.Tensor, m: torch.Tensor, y: torch.Tensor):
        x = a.amax(-1) - a.amin(-1)
        if {refused}:
            raise ValueError
        return b / torch.where(m, x, 1)
    """
    assert levels(tmp_path, program) == {"SL102": {level}}
