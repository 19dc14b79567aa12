"""Operand tables tell which tensor is which, and where in it the first bad element comes from."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.runtime.guard.support import report_of  # noqa: E402

torch.set_num_threads(1)

HEAD = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
LOOP = """
for step in range(2):
    x = torch.ones(2, 4)
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SCALE = """
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 1.0, 0.0, 1.0]))
    def forward(self, x):
        return x / self.scale
scale = Scale()
"""


def event_of(program: str, folder: Path):
    path = folder / "train.py"
    path.write_text(program)
    return report_of(path).event


def test_an_infinite_weight_is_not_shown_as_the_sample(tmp_path: Path) -> None:
    spoiled = "with torch.no_grad():\n    net.weight[1, 2] = torch.inf\n"
    event = event_of(HEAD + spoiled + LOOP.replace("LOSS", "net(x).square().mean()"), tmp_path)
    infinite = [operand.name for operand in event.operands if operand.inf]
    assert infinite == ["weight"]
    assert [operand.inf for operand in event.operands if operand.name == "x"] in ([], [0])


def test_operands_of_a_method_bear_the_names_of_their_attributes(tmp_path: Path) -> None:
    event = event_of(HEAD + SCALE + LOOP.replace("LOSS", "net(scale(x)).square().mean()"), tmp_path)
    assert [(operand.name, operand.zero) for operand in event.operands] == [("x", 0), ("self.scale", 1)]
    assert event.element is not None
    assert event.element.index == (0, 2)
    assert event.element.operands == (("x", 1.0), ("self.scale", 0.0))


def test_operands_in_the_other_order_keep_their_names(tmp_path: Path) -> None:
    loss = "torch.div(other=x - x, input=net(x).sum(-1, keepdim=True)).mean()"
    event = event_of(HEAD + LOOP.replace("LOSS", loss), tmp_path)
    zero = [operand.name for operand in event.operands if operand.zero]
    assert zero == ["x - x"] or zero[0].startswith("operand")


KEPT = {
    "((net(x) - net(x)) ** 2).sum().sqrt()": [("gradient", 0), ("loss", 1)],
    "((net(x) - net(x)) ** 0.5).sum()": [("net(x) - net(x)", 6)],
}


@pytest.mark.parametrize("loss", KEPT)
def test_operands_of_a_gradient_are_what_it_is_handed_and_what_the_forward_pass_kept(
    loss: str, tmp_path: Path
) -> None:
    event = event_of(HEAD + LOOP.replace("LOSS", loss), tmp_path)
    assert [(one.name, one.zero) for one in event.operands] == KEPT[loss]
