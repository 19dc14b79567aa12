"""What is remembered of a call tells of its result what the call itself told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.diagnostic import Level

from ..support import found_in_package


@pytest.mark.parametrize(
    ("made", "level"), [("self.norm(self.second(h))", Level.POSSIBLE), ("self.second(h)", Level.POSSIBLE)]
)
def test_a_call_that_was_followed_before_yields_the_output_of_the_same_layer(
    tmp_path: Path, made: str, level: Level
) -> None:
    code = f"""
    class Encoder(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.first = nn.Linear(n, n)
            self.second = nn.Linear(n, n)
            self.norm = nn.BatchNorm1d(n)
            self.drop = nn.Dropout(0.1)

        def draw(self, x):
            mean, logvar = self.encode(x)
            return self.reparameterize(mean, logvar), mean, logvar

        def reparameterize(self, mean, logvar):
            return mean + torch.exp(0.5 * logvar)

        def encode(self, x):
            h = F.softplus(self.first(x))
            h = self.drop(F.softplus(self.second(h)))
            return self.norm(self.first(h)), {made}

        def forward(self, x):
            z, mean, logvar = self.draw(x)
            return self.loss(z, mean, logvar)

        def loss(self, z, mean, logvar):
            return (z - mean).sum() + logvar.sum()
    """
    assert found_in_package(tmp_path, code) == {"SL201"}
