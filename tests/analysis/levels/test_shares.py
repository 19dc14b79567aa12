"""Exponentials that are divided by their own sum: a softmax that overflows where `softmax` does not."""

from __future__ import annotations

import pytest

from ..support import likely, possible

WEIGHTED = """
    def act(temperature, values, actions, n):
        weights = {weights}
        return {mean}
"""
MEAN = "(weights * actions).sum(0, keepdim=True) / weights.sum(0, True)"


@pytest.mark.parametrize("weights", ["(temperature * values).exp()", "torch.exp(values / temperature)"])
@pytest.mark.parametrize(
    "mean",
    [
        MEAN,
        "torch.einsum('n,nd->d', weights, actions) / (weights.sum() + 1e-8)",
        "F.avg_pool2d(weights * actions, 3) / (9.0 * F.avg_pool2d(weights, 3) + 1e-12)",
    ],
)
def test_a_mean_that_is_weighted_by_exponentials(weights: str, mean: str) -> None:
    assert likely(WEIGHTED.format(weights=weights, mean=mean)) == [(2, "SL201")]


@pytest.mark.parametrize(
    "weights",
    [
        "(values - values.max()).exp()",
        "((values - values.amax(0, keepdim=True)) / temperature).exp()",
        "torch.exp(values - torch.logsumexp(values, 0))",
    ],
)
def test_what_was_brought_down_first(weights: str) -> None:
    assert "SL201" not in {code for _, code in likely(WEIGHTED.format(weights=weights, mean=MEAN))}


@pytest.mark.parametrize(
    "mean",
    [
        "weights * actions / (actions.sum() + 1e-8)",
        "actions / (weights.sum() + 1e-8)",
        "weights[:n] / (weights[:n] + weights[n:].sum(0) + 1e-8)",
        "weights * actions / ((weights * actions).pow(2).sum().sqrt() + 1e-8)",
    ],
)
def test_exponentials_that_are_no_shares(mean: str) -> None:
    code = WEIGHTED.format(weights="(temperature * values).exp()", mean=mean)
    assert "SL201" not in {rule for _, rule in likely(code)}
    assert (2, "SL201") in possible(code)


def test_a_metric_says_that_there_is_nothing_to_measure() -> None:
    code = """
        class PolicyMetric(nn.Module):
            def compute(self, values, actions):
                weights = (self.temperature * values).exp()
                return (weights * actions).sum() / weights.sum()
    """
    assert "SL201" not in {rule for _, rule in likely(code)}
