"""Calls of what differs between paths."""

from unittest.mock import patch

import pytest

from stablelint.analysis.interpret.calls import dispatch

from ...support import open_


def test_where_paths_part_again_and_again_each_layer_is_called_once() -> None:
    turns = "".join(
        f"        for i in range(n):\n            layers.append(nn.Linear({i}, 3))\n            layers.append(nn.ReLU())\n"
        for i in range(5)
    )
    code = f"""
import torch
from torch import nn


def run(x: torch.Tensor, n: int, size: int):
    layers = [nn.Identity()]
    while size > 8:
{turns}        layers.append(nn.Tanh())
        size = size // 2
    for layer in layers:
        x = layer(x)
    return torch.log(x)
"""
    with patch.object(dispatch.layers, "call_layer", wraps=dispatch.layers.call_layer) as called:
        assert {rule for _, rule in open_(code)} == {"SL101"}
    assert called.call_count < 200


CHOSEN = """
class Low:
    def bounded(self, x):
        return x.clamp(min=1.0)

class High:
    def bounded(self, x):
        return x.abs() + 2

class Bare:
    def bounded(self, x):
        return x

class Abstract:
    def bounded(self, x):
        raise NotImplementedError

class Writing:
    def bounded(self, x):
        x.zero_()
        return x + 1

def f(x, kind):
    {}
    return 1 / {}
"""


@pytest.mark.parametrize(
    ("choice", "operand", "told"),
    [
        ("c = Low() if kind else High()", "c.bounded(x)", False),
        ("c = Low() if kind else Abstract()", "c.bounded(x)", False),
        ("c = Low() if kind > 1 else High() if kind else Low()", "c.bounded(x)", False),
        ("c = Low() if kind else Bare()", "c.bounded(x)", True),
        ("c = Low() if kind else kind", "c.bounded(x)", True),
        ("c = Low() if kind else None", "c.bounded(x)", False),
        ("c = Low() if kind else High(); c.bounded = kind", "c.bounded(x)", True),
        ("c = Low() if kind else Writing(); y = x.abs() + 1; c.bounded(y)", "y", True),
    ],
)
def test_the_method_of_one_of_several_objects_is_that_of_each(choice: str, operand: str, told: bool) -> None:
    assert bool(open_(CHOSEN.format(choice, operand))) is told
