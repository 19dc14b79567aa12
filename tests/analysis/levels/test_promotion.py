"""Forms that show by themselves how an operand goes bad, though nothing is known of its range."""

from __future__ import annotations

import pytest

from ..support import body, likely, possible

POOLING = """
    class StatisticsPooling(nn.Module):
        def forward(self, x):
            mean = x.mean(dim=-1)
            spread = {spread}
            return {pooled}
"""


@pytest.mark.parametrize("spread", ["x.std(dim=-1)", "torch.std(x, dim=-1)", "x.var(dim=-1) + 1e-5"])
@pytest.mark.parametrize("pooled", ["torch.cat([mean, spread], dim=-1)", "torch.stack((spread, mean))"])
def test_a_spread_that_is_pooled_with_its_mean(spread: str, pooled: str) -> None:
    assert likely(POOLING.format(spread=spread, pooled=pooled)) == [(4, "SL107")]


@pytest.mark.parametrize(
    ("spread", "pooled"),
    [
        ("x.std(dim=-1)", "(x - mean) / (spread + 1e-5)"),
        ("x.std(dim=1)", "torch.cat([mean, spread], dim=-1)"),
        ("x.relu().std(dim=-1)", "torch.cat([mean, spread], dim=-1)"),
    ],
)
def test_a_spread_that_is_not_pooled(spread: str, pooled: str) -> None:
    code = POOLING.format(spread=spread, pooled=pooled)
    assert likely(code) == []
    assert (4, "SL107") in possible(code)


@pytest.mark.parametrize("spread", ["x.std(dim=-1, unbiased=False)", "x.std(dim=-1, correction=0)"])
def test_a_spread_that_one_position_has(spread: str) -> None:
    code = POOLING.format(spread=spread, pooled="torch.cat([mean, spread])")
    assert "SL107" not in {rule for _, rule in likely(code)}


def test_statistics_of_the_valid_positions_of_each_sample() -> None:
    code = """
        class Vector(nn.Module):
            def forward(self, x, lengths):
                means, spreads = [], []
                for i, length in enumerate(lengths):
                    means.append(x[i, :length].mean(dim=0))
                    spreads.append(x[i, :length].std(dim=0))
                return torch.cat([torch.stack(means), torch.stack(spreads)], dim=-1)
    """
    assert likely(code) == [(6, "SL107")]


CORRELATION = """
    import math

    class PearsonMetric:
        def get_metric(self):
            covariance = self.covariance.get_metric()
            label_variance = self.labels.get_metric()
            other_variance = self.predictions.get_metric()
            return covariance / ({divisor})
"""


def test_a_correlation_of_python_numbers_raises_even_in_a_metric() -> None:
    code = CORRELATION.format(divisor="math.sqrt(label_variance) * math.sqrt(other_variance)")
    assert likely(code) == [(8, "SL102")]


@pytest.mark.parametrize(
    "divisor", ["math.sqrt(self.size) * math.sqrt(self.heads)", "math.sqrt(label_variance)"]
)
def test_other_roots_of_python_numbers(divisor: str) -> None:
    assert likely(CORRELATION.format(divisor=divisor)) == []


def test_a_divisor_that_is_asked_about_first() -> None:
    code = body(CORRELATION).replace(
        "return covariance / ({divisor})",
        "norm = math.sqrt(label_variance) * math.sqrt(other_variance)\n"
        "        return 0 if around(norm, 5) == 0 else covariance / norm",
    )
    assert likely(code) == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("torch.randn(8, n)", False),
        ("torch.distributions.Normal(0.0, 1.0).sample((8, n))[0]", False),
        ("load(n)", True),
    ],
)
def test_a_draw_has_the_length_that_its_author_wrote(data: str, found: bool) -> None:
    code = f"""
    def target(n, load):
        x = {data}
        return torch.stack([x.mean(dim=1), x.std(dim=1)], dim=1)
    """
    assert likely(code) == ([(3, "SL107")] if found else [])


@pytest.mark.parametrize(("dim", "found"), [("1", True), ("(1, 2)", False)])
def test_a_grid_has_more_than_one_point(dim: str, found: bool) -> None:
    code = f"""
    class Pooling(nn.Module):
        def forward(self, x):
            return torch.cat([x.mean(dim={dim}), x.std(dim={dim})], dim=-1)
    """
    assert ((3, "SL107") in likely(code)) is found
