"""Repairs are made in a copy of the process, in which the step runs on."""

from pathlib import Path

import pytest
import torch

from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained

NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
SCALED = (
    HEAD
    + NET
    + "        self.mean, self.std = torch.ones(3), torch.ones(3)\n        self.conv = nn.Conv2d(3, 2, 1)\n"
    "    def forward(self, x):\n        return self.conv((x - self.mean) / self.std)\nnet = Net()\n"
    "for step in range(2):\n    net(torch.ones(2, 3, 5, 5)).sum().backward()\n"
)
CRITIC = (
    HEAD + NET + "        self.fc = nn.Linear(4, 1)\n    def forward(self, state, action):\n"
    "        return self.fc(torch.cat([state, action], 1))\ncritic, actor = Net(), nn.Linear(3, 1)\n"
    "def update(state, action):\n    better = critic(state, actor(state)).mean()\n"
    "    loss = critic(state, action).mean() - better\n    loss.backward()\n"
    "for _ in range(2):\n    update(torch.ones(8, 3), torch.ones(8))\n"
)
SPREAD = (
    HEAD + "weight = torch.ones(6, 3, requires_grad=True)\nindex = torch.arange(6) % 4\n"
    "for _ in range(2):\n    out = torch.zeros(4, 3).scatter_add(0, index, weight * 2)\n    out.sum().backward()\n"
)
ORDER = (
    HEAD
    + "def decoder(widths):\n    widths.reverse()\n    return nn.Linear(widths[0], widths[-1])\n"
    + NET
    + "        widths = [2, 8]\n        self.up, self.head = decoder(widths), nn.Linear(widths[-1], 1)\n"
    "    def forward(self, x):\n        return self.head(x)\nnet = Net()\nnet(torch.ones(5, 8)).sum().backward()\n"
)
RENAMED = (
    HEAD
    + "old = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\nclass Net(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.blocks = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\n"
    "Net().load_state_dict({f'layers.{key}': value for key, value in old.state_dict().items()})\n"
)
DOUBLE = (
    HEAD + "import numpy as np\nx = torch.from_numpy(np.ones((4, 3)))\n"
    "model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))\n"
    "def train(x):\n    loss = model(x).sum()\n    loss.backward()\n"
    "def validate(x):\n    return model(x).mean().item()\ntrain(x)\nvalidate(x)\n"
)
MASKS = (
    HEAD
    + "from torch.utils.data import DataLoader, Dataset\nclass Masks(Dataset):\n    def __len__(self):\n        return 4\n"
    "    def __getitem__(self, i):\n        return torch.ones(1, 5, 5), torch.ones(1, 5, 5).long()\n"
    "net, loader = nn.Conv2d(1, 2, 1), DataLoader(Masks(), 2)\n"
    "for image, mask in loader:\n    F.cross_entropy(net(image), mask).backward()\n"
    "print(sum((net(image).argmax(1) == mask).float().mean() for image, mask in loader))\n"
)
NEGATIVES = (
    HEAD + "net = nn.Linear(3, 4)\ndef embed(x):\n    return F.normalize(net(x), dim=-1)\n"
    "def loss(a, p, n):\n    near = (a - p).pow(2).sum(-1)\n    far = (a - n).pow(2).sum(-1)\n"
    "    return (near - far).mean()\nx, many = torch.ones(5, 3), torch.ones(5, 2, 3)\n"
    "loss(embed(x), embed(x), embed(many)).backward()\n"
)
CASES = {
    "a sample, where another loop would spread what a batch of them meets": (
        MASKS,
        "torch.ones(1, 5, 5).long().squeeze(0) in line 10 passes",
    ),
    "no operand of a function that would spread others of its calls": (
        NEGATIVES,
        "a.unsqueeze(1) in line 10 and near.unsqueeze(1) in line 11 pass",
    ),
    "what a sequence of layers is given, where several calls are given it": (
        DOUBLE,
        "torch.from_numpy(np.ones((4, 3))).float() in line 6 passes",
    ),
    "an operand beside it that fails alike": (
        SCALED,
        "self.mean[None, :, None, None] and self.std[None, :, None, None] pass",
    ),
    "an argument, where another call of the function has another": (
        CRITIC,
        "torch.ones(8).unsqueeze(1) in line 17 passes",
    ),
    "an index that fits forward and not backward": (
        SPREAD,
        "index.unsqueeze(1).expand_as(weight * 2) passes",
    ),
    "a list of the caller": (ORDER, "widths = widths[::-1]"),
    "other names": (RENAMED, r"re.sub(r'^layers\b', r'blocks', key)"),
}


@pytest.mark.parametrize(("source", "advice"), CASES.values(), ids=CASES)
def test_advises_what_takes_the_step_to_its_end(source: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source)
    found, error = explained(path)
    assert found is not None, error
    assert advice in found.advice[0]


def test_the_copy_writes_no_file(tmp_path: Path) -> None:
    path, written = tmp_path / "train.py", tmp_path / "written"
    path.write_text(SCALED.replace("    net(", f"    open({str(written)!r}, 'a').write('x')\n    net("))
    explained(path)
    assert written.read_text() == "x"


def test_names_the_line_that_switched_gradients_off(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + "model = nn.Linear(2, 1)\ndef score(x):\n    torch.set_grad_enabled(False)\n    return model(x)\n"
        "score(torch.ones(3, 2))\nloss = model(torch.ones(3, 2)).sum()\nloss.backward()\n"
    )
    try:
        found, _ = explained(path)
    finally:
        torch.set_grad_enabled(True)
    assert found is not None
    assert found.summary == "loss has no graph: gradients are switched off"
    assert "torch.set_grad_enabled(False)" in [at.expression for _, at in found.other]
