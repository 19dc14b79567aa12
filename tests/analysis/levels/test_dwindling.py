"""Divisors that are made of what may be 0 on both sides."""

from __future__ import annotations

import pytest

from ..support import function, likely

STEP = """
    class Descent(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    m, v, g = state["m"], state["v"], p.grad
                    {update}
                    p.add_({direction}, alpha=-0.1)
"""
UPDATE = "v.mul_(0.99).add_(g.pow(2), alpha=0.01)"


@pytest.mark.parametrize(
    "update",
    [
        UPDATE,
        "v.mul_(group['beta']).addcmul_(g, g, value=0.01)",
        "v.lerp_(g.square(), 0.01)",
        "v.add_(g ** 2)",
    ],
)
def test_a_moving_mean_or_sum_of_squares_is_0_for_what_was_always_0(update: str) -> None:
    assert likely(STEP.format(update=update, direction="m / v.sqrt()")) == [(9, "SL102")]


@pytest.mark.parametrize(
    ("update", "direction"),
    [
        (UPDATE, "m / (v.sqrt() + 1e-8)"),
        (UPDATE, "m / v.sqrt().clamp_min(1e-8)"),
        ("v.mul_(0.99).add_(g, alpha=0.01)", "m / v"),
        ("v.mul_(0.99).addcmul_(g, m, value=0.01)", "m / v"),
        ("v = state['v'] + (m - g) ** 2", "m / v"),
        ("v.lerp_((g.abs() + group['damping']) ** 2, 0.01)", "m / v"),
    ],
)
def test_a_mean_that_is_lifted_or_is_none_of_squares(update: str, direction: str) -> None:
    assert likely(STEP.format(update=update, direction=direction)) == []


PAIR = "a: torch.Tensor, b: torch.Tensor, c: torch.Tensor"


@pytest.mark.parametrize(
    "quotient",
    [
        "(a - b).abs() / (a + b)",
        "2 * (b - a) / (a + b)",
        "torch.abs(a - b.view_as(a)) / torch.max(a, b.view_as(a))",
        "(a - b).abs() / (a.abs() + b.abs())",
    ],
)
def test_what_is_compared_may_be_0_on_both_sides(quotient: str) -> None:
    assert likely(function(quotient, parameters=PAIR)) == [(2, "SL102")]


@pytest.mark.parametrize(
    "quotient",
    ["(a - b) / (a + c)", "(a + b) / (a + b)", "(a - b) / (a.abs() + b.abs() + 1e-8)", "(a - b) / (a + 2)"],
)
def test_other_quotients_of_two_values(quotient: str) -> None:
    assert likely(function(quotient, parameters=PAIR)) == []
