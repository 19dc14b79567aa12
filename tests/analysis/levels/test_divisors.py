"""Divisors that come to 0 by what they are: steps between neighbours, windows, running variances."""

from __future__ import annotations

import pytest

from ..support import function, likely, possible

INTERPOLATE = "x: torch.Tensor, grid: torch.Tensor, xp: torch.Tensor, fp: torch.Tensor"


def test_two_points_of_a_grid_that_a_caller_hands_over_may_be_equal() -> None:
    code = function("(fp[1:] - fp[:-1]) / (grid[1:] - grid[:-1])", parameters=INTERPOLATE)
    assert likely(code) == [(2, "SL102")]


def test_a_step_that_has_a_name_is_one_finding_where_it_is_computed() -> None:
    code = """
        def interpolate(x_grid: list[torch.Tensor], x: torch.Tensor, out: torch.Tensor):
            for i in range(2):
                step = x_grid[i][1] - x_grid[i][0]
                lower = torch.floor((x[:, i] - x_grid[i][0]) / step)
                rest = (x[:, i] - x_grid[i][0]) / step - lower
                rest[lower < 0] = 0
                out = out + rest
            return out
    """
    assert likely(code) == [(3, "SL102")]


@pytest.mark.parametrize(
    "line",
    [
        "fp / (grid[2:] - grid[:-2])",
        "fp / (grid[1:] - fp[:-1])",
        "fp / (xp[1] - xp[0])",
        "fp / (xp[1:] - xp[:-1])",
        "fp / (grid.cumsum(0)[1:] - grid.cumsum(0)[:-1])",
    ],
)
def test_other_differences_of_elements(line: str) -> None:
    code = function(line, parameters=INTERPOLATE)
    assert likely(code) == []
    assert (2, "SL102") in possible(code)


def test_a_window_may_be_a_single_element() -> None:
    code = """
        class Attention(nn.Module):
            def __init__(self, window_size):
                super().__init__()
                table = torch.arange(window_size[0] + 0.0)
                table /= {size} - 1
                self.register_buffer("table", table)
    """
    assert likely(code.format(size="window_size[0]")) == [(5, "SL102")]
    assert likely(code.format(size="max(window_size[0], 2)")) == []


@pytest.mark.parametrize("size", ["pretrained_window_size", "hidden_size", "window"])
def test_other_sizes_are_settings(size: str) -> None:
    code = function(f"x / ({size} - 1)", parameters=f"x: torch.Tensor, {size}: int")
    assert likely(code) == []


RUNNING = """
    class Norm(nn.Module):
        def forward(self, x):
            if self.training:
                return x
            spread = torch.cat([self.{name}, self.{name}])
            return (x - self.mean) / {divisor}
"""


@pytest.mark.parametrize("divisor", ["spread", "torch.sqrt(spread)"])
def test_a_running_variance_of_a_dead_channel(divisor: str) -> None:
    assert (6, "SL102") in likely(RUNNING.format(name="running_var", divisor=divisor))


@pytest.mark.parametrize(
    ("name", "divisor"),
    [("running_var", "(spread + 1e-5)"), ("running_var", "spread.clamp(min=1e-5)"), ("scale", "spread")],
)
def test_a_running_variance_that_is_lifted(name: str, divisor: str) -> None:
    assert "SL102" not in {rule for _, rule in likely(RUNNING.format(name=name, divisor=divisor))}


GROWTH = "x: torch.Tensor, w: torch.Tensor, low: torch.Tensor, high: torch.Tensor"


@pytest.mark.parametrize(
    "before",
    [
        "cdf = w.cumsum(-1)\nstep = torch.gather(cdf, -1, high) - torch.gather(cdf, -1, low)",
        "cdf = torch.cat([w[..., :1] * 0, w.cumsum(-1)], -1)\n"
        "both = cdf.gather(-1, low)\nstep = both[..., 1] - both[..., 0]",
    ],
)
def test_a_cumulative_sum_does_not_grow_where_nothing_is_added(before: str) -> None:
    last = before.count("\n") + 3
    assert likely(function("x / step", before=before, parameters=GROWTH)) == [(last, "SL102")]


@pytest.mark.parametrize(
    "before",
    [
        "step = torch.gather(w, -1, high) - torch.gather(w, -1, low)",
        "step = w.cumsum(-1).gather(-1, high) - w.gather(-1, low)",
        "cdf = w.cumsum(-1)\nstep = cdf.gather(-1, high) - cdf.gather(-1, low)\n"
        "step = torch.where(step < 1e-5, torch.ones_like(step), step)",
    ],
)
def test_other_differences_of_gathered_elements(before: str) -> None:
    assert likely(function("x / step", before=before, parameters=GROWTH)) == []
