"""What names hold from step to step."""

import sys

import pytest

pytest.importorskip("torch")

import torch

from stablelint.runtime.audit.holders import holdings


class Meter:
    def __init__(self) -> None:
        self.total: object = 0.0


@pytest.mark.parametrize(("terms", "graphs"), [(3, 1), (20, 20)])
def test_a_running_sum_holds_the_graphs_of_what_was_added(terms: int, graphs: int) -> None:
    meter, weight = Meter(), torch.ones(2, requires_grad=True)
    for _ in range(terms):
        meter.total = meter.total + (weight * 2).sum()  # type: ignore[operator]
    assert holdings([sys._getframe()], [])["meter.total"].graphs == graphs
    meters = {"loss": meter}
    del meter
    assert holdings([sys._getframe()], [])["meters['loss'].total"].graphs == graphs
    assert meters
