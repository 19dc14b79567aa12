"""What is behind an error: a call further out, what a model does not register, an operation that cut a graph, a sample."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.crash import traced
from stablelint.runtime.crash.provenance.history import Past
from stablelint.runtime.program.location import Location
from tests.runtime.crash.crashes import HEAD, TRAIN
from tests.runtime.crash.running import explained

NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
CASES = (
    (
        HEAD + "up = nn.Sequential(nn.ConvTranspose2d(1, 2, 3, 2, 1), nn.ConvTranspose2d(2, 1, 3, 2, 1))\n"
        "x, clean = torch.ones(2, 1, 7, 7), torch.ones(2, 1, 28, 28)\n"
        "for _ in range(2):\n    out = up(x)\n    F.mse_loss(out, clean).backward()",
        "out (2, 1, 25, 25) float32 and clean (2, 1, 28, 28) float32",
        "nn.ConvTranspose2d(…, output_padding=1) of 0, 1 passes",
    ),
    (
        HEAD + NET + "        self.fc = nn.Linear(3, 2)\n    def forward(self, x, adjacency):\n"
        "        return adjacency @ self.fc(x)\nnet, x, chosen = Net(), torch.ones(6, 3), torch.arange(6) < 4\n"
        "net(x[chosen], torch.eye(6))",
        "adjacency (6, 6) float32 and self.fc(x) (4, 2) float32",
        "net(x, torch.eye(6))[chosen]",
    ),
    (
        HEAD + "class Distill(nn.Module):\n    def forward(self, student, teacher, labels):\n"
        "        return F.softmax(teacher, 1).sum() + F.cross_entropy(student, labels)\n"
        "s, t, y = torch.ones(4, 3), torch.ones(4, 3), torch.zeros(4).long()\nloss_fn = Distill()\nloss_fn(s, y, t)",
        "F.softmax fails on teacher (4,)",
        "loss_fn(s, t, y) in line 10 passes",
    ),
    (
        HEAD + NET + "        self.table = torch.ones(5)\n        self.fc = nn.Linear(5, 5)\n"
        "    def forward(self, x):\n        return self.fc(x + self.table)\n"
        "net = Net().to(torch.bfloat16)\nnet(torch.ones(2, 5, dtype=torch.bfloat16))",
        "self.table of Net is a plain tensor",
        "self.register_buffer('table', …)",
    ),
    (
        HEAD + NET + "        self.first, self.rest = nn.Linear(5, 5), [nn.Linear(5, 5)]\n"
        "    def forward(self, x):\n        return self.rest[0](self.first(x))\n"
        "DEVICE = torch.device('meta')\nnet = Net().to(DEVICE)\nnet(torch.ones(2, 5, device=DEVICE))",
        "self.rest of Net is a plain list of modules",
        "self.rest = nn.ModuleList(…)",
    ),
    (
        HEAD
        + NET
        + "        self.fc = nn.Linear(5, 3)\n    def forward(self, x):\n        scores = self.fc(x)\n"
        "        best = scores.argmax(1)\n        return best.float()\n"
        "net = Net()\nloss = F.mse_loss(net(torch.ones(2, 5)), torch.ones(2))\nloss.backward()",
        "`scores.argmax(1)` cuts it off",
        "what stands before argmax",
    ),
    (
        HEAD
        + NET
        + "        self.fc = nn.Linear(5, 1)\n    def forward(self, x):\n        return self.fc(x).squeeze()\n"
        "net, x, y = Net(), torch.ones(1, 5), torch.ones(1)\nF.binary_cross_entropy_with_logits(net(x), y)",
        "makes () of (1, 1)",
        "self.fc(x).squeeze(-1) in line 10 passes",
    ),
    (
        HEAD + "from torch.utils.data import DataLoader, Dataset, Subset\nLABELS = {'cat': 0, 'dog': 1}\n"
        "class Pets(Dataset):\n    names = ['cat', 'Dog']\n    def __len__(self):\n        return 2\n"
        "    def __getitem__(self, index):\n        return LABELS[self.names[index]]\n"
        "for batch in DataLoader(Subset(Pets(), [1, 0]), batch_size=2):\n    pass",
        "sample 1 of Pets",
        "LABELS[self.names[index].lower()]: 'dog' is there",
    ),
    (
        TRAIN + "for one in model.parameters():\n    one.requires_grad = False\n"
        "chosen = [one for one in model.parameters() if one.requires_grad]\ntorch.optim.SGD(chosen, lr=0.1)",
        "none of the 4 parameters of model (Sequential) asks for gradients",
        "requires_grad_(True)",
    ),
    (
        TRAIN
        + "judge = nn.Linear(3, 1)\nsteps = torch.optim.SGD(judge.parameters(), lr=0.1)\nfake = model(inputs)\n"
        "first = judge(fake).mean()\nfirst.backward()\nsteps.step()\nsecond = judge(fake).sum()\nsecond.backward()",
        "fake was made before the last backward call",
        "fake.detach() in line 12",
    ),
    (
        HEAD + "x = torch.zeros(12, 16, dtype=torch.float64)\ny = x * 2\nnn.Linear(16, 2)(y)",
        "y is float64",
        "y.float() passes",
    ),
    (
        HEAD + "nn.LSTM(4, 8, 2)(torch.ones(3, 5, 4), (torch.zeros(2, 3, 8), torch.zeros(2, 3, 8)))",
        "must be (2, 5, 8)",
        "nn.LSTM(…, batch_first=True) passes",
    ),
    (
        HEAD + "class Settings:\n    device = 'meta'\nloss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        "loss(torch.ones(2, 3, device='meta'), torch.zeros(2, device='meta').long())",
        "weight of loss is on cpu",
        "loss.to(Settings.device)",
    ),
    (
        HEAD + "def read(memory, query):\n    return (memory * query).sum()\n"
        "states, query = torch.zeros(2, 3), torch.ones(3, requires_grad=True)\ntotal = 0\n"
        "for step in range(2):\n    total = total + read(states, query)\n    states[step] = 1.0\ntotal.backward()",
        "`states[step] = 1.0` writes a tensor (2, 3)",
        "clone()",
    ),
    (
        HEAD + "codes = torch.tensor([7001, 7004])\nnn.Embedding(2, 4)(codes)",
        "codes holds 7001 at 0",
        "number them all from 0: torch.unique(codes, return_inverse=True)",
    ),
)


@pytest.mark.parametrize(("source", "says", "advice"), CASES)
def test_tells_what_is_behind_an_error(source: str, says: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    found, error = explained(path)
    assert found is not None, error
    text = " | ".join([found.summary, *found.because, *(what for what, _ in found.other)])
    assert says in text
    assert advice in " | ".join(found.advice), found.advice


PLAIN = (
    HEAD
    + "class Part:\n    def __init__(self):\n        self.fc = nn.Linear(2, 2)\n"
    + NET
    + "        self.parts = {}\n"
    "net = Net()\ntorch.optim.SGD(net.parameters(), 0.1)\n"
)


@pytest.mark.parametrize(
    ("made", "told", "advice"),
    [
        ("[Part()]", "is a plain list of Part, which is no nn.Module", "self.parts = nn.ModuleList(…)"),
        ("Part()", "is Part, which is no nn.Module and holds modules", "class Part(nn.Module)"),
    ],
)
def test_objects_hide_their_modules(made: str, told: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PLAIN.format(made))
    found, _ = explained(path)
    assert found is not None
    assert told in found.because[0]
    assert advice in found.advice[0]


def test_the_model_of_the_loss_is_asked_what_it_trains(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "other = nn.Linear(2, 2)\nmodel = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\n"
        "for one in model.parameters():\n    one.requires_grad_(False)\n"
        "loss = model(torch.ones(1, 2)).sum()\nloss.backward()\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert "none of the 4 parameters of model (Sequential) asks for gradients" in found.because
    assert "one.requires_grad_(False)" in [at.expression for _, at in found.other]


def test_a_tuple_that_a_module_keeps_is_detached_part_by_part(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + NET + "        self.lstm, self.state = nn.LSTM(2, 3), None\n"
        "    def forward(self, x):\n        h, self.state = self.lstm(x, self.state)\n        return h\n"
        "net = Net()\nfor _ in range(2):\n    loss = net(torch.ones(4, 1, 2)).sum()\n    loss.backward()\n"
    )
    found, _ = explained(path)
    line = 1 + path.read_text().splitlines().index("        h, self.state = self.lstm(x, self.state)")
    assert found is not None
    assert found.advice == (
        f"self.state = tuple(one.detach() for one in self.state) after line {line} passes",
    )


def test_a_key_is_looked_for_however_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + "batch = {'labels': torch.ones(2)}\nbatch.pop('label')\n")
    found, _ = explained(path)
    assert found is not None
    assert found.advice == ("batch.pop('labels') in line 6 passes",)


def test_a_state_that_a_module_keeps_is_detached_where_it_is_carried_on(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + NET + "        self.cell, self.h = nn.GRUCell(2, 3), torch.zeros(1, 3)\n"
        "    def forward(self, x):\n        self.h = self.cell(x, self.h)\n        return self.h\n"
        "net = Net()\nfor _ in range(2):\n    loss = net(torch.ones(1, 2)).sum()\n    loss.backward()\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.advice == ("self.h = self.h.detach() after each step",)


def test_a_graph_that_was_freed_is_told_with_the_statement_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + NET
        + "        self.fc = nn.Linear(2, 3)\n    def forward(self, x):\n        return self.fc(x)\n"
        "maker, judge = Net(), nn.Linear(3, 1)\nfake = maker(torch.ones(4, 2))\n"
        "judge(fake).sum().backward()\njudge(fake).mean().backward()\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert ("fake comes from here", "fake = maker(torch.ones(4, 2))") in [
        (what, at.expression) for what, at in found.other
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "x, i = torch.ones(4, 3), torch.zeros(4, 1)\nx.gather(1, i)",
            "an index must be an integer, and i is float32",
        ),
        ("x, i = torch.ones(9), torch.zeros(4).int()\nx.take(i)", "i has to be int64"),
        (
            "layer = nn.TransformerEncoderLayer(8, 2)\nx, mask = torch.ones(4, 5, 8), torch.zeros(4, 5).bool()\n"
            "layer(x, src_key_padding_mask=mask)",
            "x is read as 5 samples of 4 steps",
        ),
    ],
)
def test_says_why_a_call_fails(source: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert found.summary.endswith(f": {why}")


@pytest.mark.parametrize(
    ("made", "by_default"),
    [
        ("x = torch.from_numpy(np.ones((4, 3)))", True),
        ("rows = np.random.RandomState(0).rand(4, 3)\nx = torch.from_numpy(rows)", True),
        ("mean = np.mean(np.ones(3), dtype=np.float64)\nx = torch.from_numpy(np.ones((4, 3)) - mean)", False),
        ("x = torch.from_numpy(np.ones((4, 3), 'd'))", False),
        ("def made(rows):\n    return torch.from_numpy(rows)\nx = made(np.ones((4, 3)).astype('d'))", False),
    ],
)
def test_an_array_is_float64_by_default_where_nothing_tells_its_type(
    made: str, by_default: bool, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + f"import numpy as np\n{made}\nnn.Linear(3, 2)(x)\n")
    found, error = explained(path)
    assert found is not None, error
    assert "x is float64" in found.summary
    assert any("unless they are told otherwise" in one for one in found.because) is by_default


def test_the_call_of_a_function_is_told_and_no_comprehension_around_what_it_makes() -> None:
    texts = ("torch.tensor(one)", "[torch.tensor(one) for one in rows]", "columns(rows)")
    at, *callers = (Location("train.py", row, None, text, "") for row, text in enumerate(texts))
    past = Past("tensor", at, (1,), "float32", False, None, (), False, False, None, tuple(callers))
    assert [*traced._begun([past], "x is float32")] == [
        ("x is float32", at),
        ("it is called here", callers[1]),
    ]
