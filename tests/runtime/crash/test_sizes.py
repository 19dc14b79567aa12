"""Which size is the wrong one: what the layers of a model, and the tensors of the program, agree on."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained


@pytest.fixture
def not_run_again() -> None:
    """Here programs are run again."""


NET = "class Net(nn.Module):\n    def __init__(self, n=6):\n        super().__init__()\n"
RUN = "net = Net()\nnet(torch.ones(4, 6))\n"

# Programs, and the advice that comes first.
MORE = {
    "a reduction over the steps in place of the features": (
        NET + "        self.out = nn.Linear(n, 2)\n    def forward(self, x):\n"
        "        best = torch.relu(x).max(dim=1).values\n        return self.out(best)\n"
        "net = Net()\nnet(torch.ones(4, 6, 9))\n",
        ("line 10: best = torch.relu(x).max(dim=2).values",),
    ),
    "a branch that is the argument": (
        NET + "        self.inner = nn.Linear(6, 8)\n    def forward(self, x):\n"
        "        y = torch.tanh(self.inner(x))\n        return torch.relu(y + x)\n"
        "net = Net()\nnet(torch.ones(4, 6))\n",
        ("line 8: self.inner = nn.Linear(6, 6)",),
    ),
    "a layer before gives what is cut in two": (
        NET + "        self.code, self.out = nn.Linear(6, n), nn.Linear(n, 2)\n"
        "    def forward(self, x):\n        mean, scale = self.code(x).chunk(2, 1)\n        return self.out(mean)\n"
        + RUN,
        ("line 8: self.code, self.out = (nn.Linear(6, n), nn.Linear(n // 2, 2))",),
    ),
    "two layers share a size": (
        NET
        + "        width = n\n        self.norm = nn.BatchNorm1d(width)\n        self.out = nn.Linear(width, 2)\n"
        "    def forward(self, x, more):\n        return self.out(self.norm(torch.cat([x, more], 1)))\n"
        "net = Net()\nnet(torch.ones(4, 6), torch.ones(4, 3))\n",
        ("line 13: net = Net(n=9)",),
    ),
    "a size that a constructor was given": (
        NET + "        self.out = nn.Linear(n, 2)\n    def forward(self, x):\n        return self.out(x)\n"
        "width = 2 * 4\nnet = Net(width)\nnet(torch.ones(4, 6))\n",
        ("line 8: self.out = nn.Linear(n - 2, 2)",),
    ),
    "steps of what a convolution gave": (
        NET + "        self.conv, self.rnn = nn.Conv1d(2, 7, 1), nn.GRU(7, 4, batch_first=True)\n"
        "    def forward(self, x):\n        y = self.conv(x)\n        return self.rnn(y)[0]\n"
        "net = Net()\nnet(torch.ones(3, 2, 5))\n",
        ("line 10: y = self.conv(x).transpose(1, 2)",),
    ),
    "a square matrix beside as many rows as all others have": (
        "def near(pairs):\n    n = int(pairs.max()) + 1\n    a = torch.zeros(n, n)\n    return a\n"
        "x, y, pairs = torch.ones(7, 3), torch.ones(7), torch.tensor([[0, 1], [4, 2]])\n"
        "adjacent = near(pairs)\nadjacent @ (x * 2)\n",
        ("line 7: a = torch.zeros(n + 2, n + 2)",),
    ),
    "a batch that stands in the second dimension": (
        NET + "        self.rnn = nn.GRU(6, 5, batch_first=True)\n    def forward(self, x, more):\n"
        "        return torch.cat([self.rnn(x)[1][-1], more], 1)\n"
        "net, x, more, y = Net(), torch.ones(9, 4, 6), torch.ones(4, 2), torch.ones(4)\nnet(x, more)\n",
        (
            "line 11: net, x, more, y = (Net(), torch.ones(9, 4, 6).transpose(0, 1), torch.ones(4, 2), torch.ones(4))",
        ),
    ),
    "twice as many matrices as samples": (
        NET + "        self.code = nn.Linear(6, 12)\n    def forward(self, x):\n"
        "        turn, box = self.code(x).view(-1, 2, 3), x.view(-1, 1, 2, 3)\n"
        "        grid = F.affine_grid(turn, list(box.shape), align_corners=False)\n"
        "        return F.grid_sample(box, grid, align_corners=False)\n"
        "net = Net()\nnet(torch.ones(4, 6))\n",
        ("line 8: self.code = nn.Linear(6, 6)",),
    ),
    "keys that are transposed in the wrong dimensions": (
        "q, k = torch.ones(2, 4, 6, 8), torch.ones(2, 4, 6, 8)\ny = q @ k.transpose(1, 2)\n",
        ("line 6: y = q @ k.transpose(2, 3)",),
    ),
    "numbers that are written into whole numbers": (
        "table = torch.full((4, 2), 0)\ntable[1] += torch.ones(2) * 0.5\n",
        ("line 5: table = torch.full((4, 2), 0).float()",),
    ),
    "lengths of the samples of the second dimension": (
        "x, lengths = torch.ones(7, 3, 2), torch.tensor([7, 5, 4])\n"
        "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)\n",
        ("line 6: nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=False)",),
    ),
    "weights of a loss": (
        "loss = nn.CrossEntropyLoss(torch.ones(3).double())\nloss(torch.ones(2, 3), torch.zeros(2).long())\n",
        ("line 5: loss = nn.CrossEntropyLoss(torch.ones(3).double().float())",),
    ),
    "a total of all losses": (
        "net, total = nn.Linear(2, 1), 0.0\nfor _ in range(2):\n    loss = net(torch.ones(1, 2)).exp().sum()\n"
        "    total += loss\n    total.backward()\n",
        ("backward() of the loss of each step, and loss.item() in `total += loss`",),
    ),
    "a row that is set": (
        "table = nn.Parameter(torch.ones(3, 2))\ntable[0] = 0.0\n",
        ("with torch.no_grad(): around the write, if it sets the parameter",),
    ),
    "items of a data set that reads ahead": (
        "class Ahead(torch.utils.data.Dataset):\n    def __len__(self):\n        return 5\n"
        "    def __getitem__(self, i):\n        return max(torch.ones(4)[i + j] for j in range(2))\nAhead()[3]\n",
        ("return 5 - 2 in Ahead.__len__: 3 samples can be given",),
    ),
    "heads that do not divide": (
        NET.replace("n=6", "heads") + "        self.heads = heads\n    def forward(self, x):\n"
        "        return x.view(2, self.heads, 12 // self.heads)\nnet = Net(5)\nnet(torch.ones(2, 12))\n",
        ("line 11: net = Net(4)",),
    ),
    "one weight for each row of an index": (
        "out, index, weight = torch.zeros(2, 3), torch.zeros(2, 4).long(), torch.ones(2)\n"
        "out.scatter_add_(1, index, weight)\n",
        ("weight.unsqueeze(1).expand(2, 4) passes, and gives (2, 3)",),
    ),
    "an argument that the batch holds": (
        "batch = {'x': torch.ones(2), 'y': torch.ones(2)}\ndef step(x, y):\n    return x + y\nstep(batch['x'])\n",
        ("step takes (x, y): missing a required argument: 'y'", "step(batch['x'], batch['y'])"),
    ),
    "a branch that returns nothing": (
        "def gate(x):\n    if len(x) > 3:\n        return x\n    x.softmax(-1)\n"
        "w = gate(torch.ones(2))\nw.sum()\n",
        ("return x.softmax(-1), in gate",),
    ),
    "a mask that is written": (
        "x = torch.ones(3, requires_grad=True).sigmoid()\nx[x > 0.5] = 0\nx.sum().backward()\n",
        ("x = torch.where(x > 0.5, 0, x)",),
    ),
    "columns that are unpacked as rows": (
        "edges = torch.ones(5, 2)\nfrom_, to = edges\n",
        ("from_, to = edges.unbind(1)",),
    ),
    "losses that are made a new tensor": (
        "net = nn.Linear(3, 1)\nlosses = [net(torch.ones(2, 3)).mean() for _ in range(2)]\n"
        "total = torch.tensor(losses).sum()\ntotal.backward()\n",
        ("torch.stack(losses), which keeps the graphs of what it joins",),
    ),
    "a mask of floats": (
        "mask = torch.tensor([1.0, 0.0])\n~mask\n",
        ("line 5: mask = torch.tensor([1.0, 0.0]).bool()",),
    ),
    "names in place of numbers": (
        "names = ['a', 'b']\nnn.CrossEntropyLoss()(torch.ones(2, 3), names)\n",
        ("make numbers of them, and a tensor of these",),
    ),
    "windows that end behind the series": (
        "class Windows(torch.utils.data.Dataset):\n    def __init__(self, ahead=3):\n        self.ahead = ahead\n"
        "    def __len__(self):\n        return 20 - 5\n"
        "    def __getitem__(self, i):\n        return torch.ones(20)[i + 5 : i + 5 + self.ahead]\n"
        "for _ in torch.utils.data.DataLoader(Windows(), batch_size=5):\n    pass\n",
        ("return 20 - 5 - self.ahead + 1 in Windows.__len__: 13 samples can be given",),
    ),
    "a model that gives another size than it is compared with": (
        "net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 6))\nx = torch.ones(3, 5)\nnet(x) - x\n",
        ("line 5: net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 5))",),
    ),
    "probabilities that are scores": (
        "scores = torch.tensor([[1.0, -2.0]])\ntorch.distributions.Categorical(probs=scores)\n",
        ("scores.softmax(-1)", "Categorical(logits=scores)"),
    ),
}


@pytest.mark.parametrize(("source", "advice"), MORE.values(), ids=MORE)
def test_advises_one_change_of_what_was_meant(source: str, advice: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source)
    found, _ = explained(path)
    assert found is not None
    assert found.advice[0] == advice[0]


def test_a_pass_that_goes_well_again_is_no_matter_of_its_layers(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + NET + "        self.a, self.b = nn.Conv1d(1, 2, 3, padding=1), nn.Conv1d(2, 2, 3, padding=1)\n"
        "    def forward(self, x):\n        return self.b(self.a(x))\nnet = Net().to('meta')\n"
        "net.a.register_forward_hook(lambda layer, given, result: result.sum().item())\n"
        "net(torch.ones(2, 1, 8, device='meta'))\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert "nn.Conv1d" not in " ".join(found.advice)
    assert any(one.startswith("if not result.sum().is_meta: around") for one in found.advice)


@pytest.mark.parametrize("given", ["4", "4, 5"], ids=["alone", "beside another"])
def test_a_value_that_fills_is_no_size(given: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    names = "first" if given == "4" else "first, last"
    path.write_text(
        HEAD + f"{names} = {given}\na = torch.full((2, 4), first)\nb, c = torch.ones(2, 3), torch.ones(3)\n"
        "a * b\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.other == ()
