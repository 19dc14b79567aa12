"""Calls of what differs between paths."""

from unittest.mock import patch

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
