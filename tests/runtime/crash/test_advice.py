"""Advice is a program that does what was meant: none that loses what was loaded, or fails in the next line."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.crash.crashes import HEAD, TRAIN
from tests.runtime.crash.running import explained

NET = "class Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
WIDTH = (
    HEAD + NET + "        self.a, self.b = nn.Linear(3, width), nn.Linear(width, 2)\n"
    "teacher, student = Net(8), Net(4)\nsaved = teacher.state_dict()\n"
)
KEPT = HEAD + "g = torch.ones(3, requires_grad=True).sigmoid()\nh = g * g\n"
UP = (
    HEAD + NET + "        self.up = nn.ConvTranspose2d(4, 2, 2, 2)\n        self.conv = nn.Conv2d(4, 2, 1)\n"
    "    def forward(self, x, skip):\n        x = self.up(x)\n"
    "        x = torch.cat([skip, x], dim=1)\n        return self.conv(x)\n"
    "net = Net(1)\nnet(torch.ones(1, 4, 6, 6), torch.ones(1, 2, 12, 13))"
)

CASES = (
    (KEPT + "g.mul_(-1).add_(1)\nh.sum().backward()", "g = g.mul(-1).add(1)", ("mul_",)),
    (KEPT + "g[0].mul_(2)\nh.sum().backward()", "g = g.clone() before it", ("g[0] =",)),
    (TRAIN + "model(inputs).numpy()", "model(inputs).detach().numpy()", ()),
    (TRAIN + "import numpy as np\ny = model(inputs)\nnp.asarray(y)", "y.detach().numpy()", ("np.detach",)),
    (WIDTH + "student.load_state_dict(saved)", "build the model in the sizes of the state", ("strict",)),
    (
        TRAIN + "state = {f'enc.{i}.w': torch.ones(1) for i in range(4)}\nmodel.load_state_dict(state)",
        "build the model that was saved",
        ("strict",),
    ),
    (
        HEAD + "with torch.device('meta'):\n    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))\n"
        "net.load_state_dict(nn.Sequential(nn.Linear(2, 3)).state_dict(), strict=False, assign=True)\n"
        "net(torch.ones(1, 2))",
        "to_empty(device=…) of the layers on meta alone",
        ("model.to_empty", ".to('cpu')"),
    ),
    (UP, "F.interpolate(x, size=[12, 13])", ("dim=",)),
)


@pytest.mark.parametrize(("source", "says", "never"), CASES, ids=lambda one: None)
def test_advice_is_what_was_meant(source: str, says: str, never: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    found, error = explained(path)
    assert found is not None, error
    told = " | ".join(found.advice)
    assert says in told
    assert not [one for one in never if one in told], told


def test_a_state_of_another_model_of_the_program_is_told_as_its(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(WIDTH + "student.load_state_dict(saved)\n")
    found, error = explained(path)
    assert found is not None, error
    assert "teacher has the keys and the sizes of the state" in found.because
    assert "4 of 4 entries" not in str(found.because)  # b.bias is of one size in both
    assert [at.expression for _, at in found.other] == ["Net(4)"]


def test_what_no_state_held_is_told_with_the_load_that_forgave_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(CASES[6][0] + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert "of 4 parameters there are on meta: 1.weight, 1.bias" in found.because
    shown = [at.expression for _, at in found.other]
    assert any("strict=False" in one for one in shown)
    assert "torch.device('meta')" in shown
