"""The gradients of custom functions, of few elements and of many."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.runtime.audit.support import audited  # noqa: E402

PROGRAM = """
import torch
from torch import nn


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, outer):
        (x,) = ctx.saved_tensors
        return FACTOR * x * outer


torch.manual_seed(0)
layer = nn.Linear(50, WIDTH)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    Square.apply(layer(torch.randn(32, 50))).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("width", [4, 400])
@pytest.mark.parametrize(("factor", "wrong"), [("2", False), ("-2", True), ("1.9", True)])
def test_a_wrong_backward_is_found_whatever_the_size(
    width: int, factor: str, wrong: bool, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("FACTOR", factor).replace("WIDTH", str(width)))
    failed = [one.check.name for one in audited(path, 3).failed]
    assert ("custom-gradients" in failed) is wrong


CUSTOM = """
import torch


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return FORWARD

    @staticmethod
    def backward(ctx, outer):
        (x,) = ctx.saved_tensors
        return BACKWARD


torch.manual_seed(0)
weight = torch.nn.Parameter(torch.randn(6, 5) * torch.tensor([[1.0], [1], [0], [0], [1e-7], [-1e-7]]))
optimizer = torch.optim.SGD([weight], lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    Own.apply(weight).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("forward", "backward", "told"),
    [
        ("x.clamp_min(0)", "outer * (x > 0)", "passed"),  # any of its gradients at the kink
        ("x.clamp_min(0)", "outer * (x >= 0)", "passed"),
        ("x.clamp_min(0)", "outer", "failed"),
        ("x.abs()", "outer * x.sign()", "passed"),
        ("x.abs()", "-outer * x.sign()", "failed"),
        ("x.view_as(x)", "-outer", "not seen"),  # reversed on purpose
        ("x.round()", "outer", "not seen"),  # straight through
        ("x.exp() * x", "outer * (x.exp() + x.exp() * x)", "passed"),
        ("x.exp() * x", "outer * x.exp()", "failed"),
    ],
)
def test_any_derivative_of_the_forward_is_right(
    forward: str, backward: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(CUSTOM.replace("FORWARD", forward).replace("BACKWARD", backward))
    (answer,) = (one for one in audited(path, 3).results if one.check.name == "custom-gradients")
    assert answer.outcome.status.value == told, answer.outcome.evidence
