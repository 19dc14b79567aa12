"""What names hold from step to step."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from stablelint.runtime.audit.holders import filled_at, holdings


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


def test_one_list_under_two_names_is_told_once_and_by_what_fills_it() -> None:
    meter = Meter()
    curves = meter.total = []
    for _ in range(3):
        curves.append(torch.ones(2, requires_grad=True).sum())
    names = [name for name in holdings([sys._getframe()], []) if name in ("curves", "meter.total")]
    assert names == ["meter.total"]


def test_what_a_key_holds_is_filled_through_its_default(tmp_path: Path) -> None:
    path = tmp_path / "log.py"
    path.write_text("def log(self, name, value):\n    self.curves.setdefault(name, []).append(value)\n")
    at = filled_at("tracker.curves", {str(path)})
    assert at is not None
    assert at.row == 2
