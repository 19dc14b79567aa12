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
