"""What was made before the call that failed is made otherwise, in the script."""

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.provenance.history import Past
from stablelint.runtime.crash.repairs import refits
from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained

NET = HEAD + "class Net(nn.Module):\n    def __init__(self, d=4):\n        super().__init__()\n"
BLOCK = (
    HEAD + "class Block(nn.Module):\n    def __init__(self, c):\n        super().__init__()\n"
    "        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3)\n"
    "    def forward(self, x):\n        return x + self.b(self.a(x))\n"
    "net = nn.Sequential(Block(2), nn.Conv2d(2, 3, 1), Block(3))\nnet(torch.ones(2, 2, 9, 9)).sum().backward()\n"
)
OF_CONFIG = (
    HEAD
    + "from dataclasses import dataclass\n@dataclass\nclass Config:\n    width: int = 4\n    depth: int = 2\n"
    "class Net(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
    "        self.layers = nn.ModuleList(nn.Linear(3, config.width) for _ in range(config.depth))\n"
    "        self.head = nn.Linear(config.width, 2)\n"
)
CASES = {
    "the convolution of a block that does not keep the size, in all blocks": (
        BLOCK,
        "nn.Conv2d(c, c, 3, padding=1) in line 8 passes",
    ),
    "the projection beside a block, as the block is told": (
        NET.replace("d=4", "stride")
        + "        self.body, self.skip = nn.Conv2d(2, 3, 3, stride, 1), nn.Conv2d(2, 3, 1)\n"
        "    def forward(self, x):\n        return self.body(x) + self.skip(x)\n"
        "Net(2)(torch.ones(1, 2, 8, 8)).sum().backward()\n",
        "nn.Conv2d(2, 3, 1, stride=stride) in line 8 passes",
    ),
    "the function that makes two layers, where one of them was called": (
        NET + "        self.a, self.b = double(2, d), double(d, d)\n    def forward(self, x):\n"
        "        y = self.a(x)\n        return self.b(torch.cat([y, y], 1))\n"
        "def double(i, o):\n    return nn.Sequential(nn.Conv2d(i, o, 1), nn.ReLU())\n"
        "Net()(torch.ones(3, 2, 5, 5)).sum().backward()\n",
        "double(2 * d, d) in line 8 passes",
    ),
    "a switch of a recurrent layer": (
        NET
        + "        self.rnn, self.query = nn.GRU(3, d, batch_first=True, bidirectional=True), nn.Linear(3, d)\n"
        "    def forward(self, x):\n        return torch.bmm(self.query(x), self.rnn(x)[0].transpose(1, 2))\n"
        "Net()(torch.ones(2, 5, 3)).sum().backward()\n",
        "nn.GRU(3, d, batch_first=True, bidirectional=False) in line 8 passes",
    ),
    "a switch of a function that pads": (
        HEAD
        + "from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence\nsizes = torch.tensor([3, 5, 4])\n"
        "rows = pad_sequence([torch.ones(int(one), 2) for one in sizes])\n"
        "packed = pack_padded_sequence(rows, sizes, batch_first=True, enforce_sorted=False)\n"
        "nn.GRU(2, 4)(packed)[0].data.sum().backward()\nrows.sum(1) / sizes[:, None]\n",
        "pad_sequence([torch.ones(int(one), 2) for one in sizes], batch_first=True) in line 7 passes",
    ),
    "a size that is one too small": (
        HEAD
        + "bins = 8\nfilters = torch.rand(3, bins // 2)\nwaves = torch.ones(2, 5, 7, requires_grad=True)\n"
        "(filters @ waves).sum().backward()\n",
        "torch.rand(3, bins // 2 + 1) in line 6 passes",
    ),
    "an array of another type, from which others are made, too": (
        HEAD
        + "import numpy as np\nseen, taken = np.zeros((4, 2), np.float32), np.zeros((4, 1), np.float32)\n"
        "def sample():\n    return tuple(torch.from_numpy(a) for a in (seen, taken))\n"
        "x, index = sample()\nscores = nn.Linear(2, 2)(x)\nscores.gather(1, index).sum().backward()\n",
        "np.zeros((4, 1), np.int64) in line 6 passes",
    ),
    "an index of whole numbers that NumPy made, where the array is made a tensor": (
        HEAD + "import numpy as np\ndef edges():\n    found = np.array([[0, 1], [1, 0]], dtype=np.int32)\n"
        "    return torch.from_numpy(found)\nto = edges()[1]\nx = torch.ones(2, 16)\n"
        "index = to[:, None].expand_as(x)\ntorch.zeros(2, 16).scatter_add(0, index, x)\n",
        "torch.from_numpy(found).long() in line 8 passes",
    ),
    "a model of another width than was saved": (
        NET
        + "        self.a, self.b = nn.Linear(3, d), nn.Linear(d, 2)\ndef loaded(state):\n    net = Net()\n"
        "    net.load_state_dict(state)\n    return net\nloaded(Net(8).state_dict())\n",
        "Net(d=8) in line 10 passes",
    ),
    "the same, of which the width has a name": (
        NET
        + "        self.a, self.b = nn.Linear(3, d), nn.Linear(d, 2)\nsizes = {'d': 8}\nold = Net(sizes['d'])\n"
        "def loaded(state):\n    net = Net(5)\n    net.load_state_dict(state)\n    return net\n"
        "loaded(old.state_dict())\n",
        "Net(sizes['d']) in line 12 passes",
    ),
    "a model of more layers, of another width and without biases": (
        HEAD + "class Deep(nn.Module):\n    def __init__(self, width, depth=2, bias=True):\n"
        "        super().__init__()\n"
        "        self.layers = nn.ModuleList(nn.Linear(width, width, bias) for _ in range(depth))\n"
        "net = Deep(2)\nnet.load_state_dict(Deep(4, 3, False).state_dict())\n",
        "Deep(4, bias=False, depth=3) in line 9 passes",
    ),
    "a model of a configuration, which was saved of another": (
        OF_CONFIG + "def loaded(state):\n    config = Config(depth=1)\n    net = Net(config)\n"
        "    net.load_state_dict(state)\n    return net\nloaded(Net(Config(8, 1)).state_dict())\n",
        "config.width = 8 before line 17 passes",
    ),
    "the same, which the state comes with": (
        OF_CONFIG + "config = Config()\nsaved = {'config': Config(8), 'net': Net(Config(8)).state_dict()}\n"
        "net = Net(config)\nnet.load_state_dict(saved['net'])\n",
        "Net(saved['config']) in line 17 passes",
    ),
    "a configuration in another one": (
        OF_CONFIG + "from types import SimpleNamespace\n"
        "class Run:\n    def __init__(self, given):\n        self.net = Net(given.net)\n"
        "state = Run(SimpleNamespace(net=Config(8))).net.state_dict()\n"
        "whole = SimpleNamespace(net=Config())\nrun = Run(whole)\nrun.net.load_state_dict(state)\n",
        "given.net.width = 8 before line 18 passes",
    ),
    "a dictionary that is handed on by name": (
        NET + "        self.a, self.b = nn.Linear(3, d), nn.Linear(d, 2)\n"
        "given = {'d': 5}\nnet = Net(**given)\nnet.load_state_dict(Net(8).state_dict())\n",
        "given['d'] = 8 before line 10 passes",
    ),
    "a model that an object made of what it was given": (
        NET + "        self.a, self.b = nn.Linear(3, d), nn.Linear(d, 2)\n"
        "class Run:\n    def __init__(self, d=5):\n        self.net = Net(d)\n"
        "run = Run()\nrun.net.load_state_dict(Net(8).state_dict())\n",
        "Run(d=8) in line 12 passes",
    ),
    "a transposed convolution before a loss, whose result alone has to fit": (
        NET
        + "        self.up = nn.Sequential(nn.ConvTranspose2d(1, 2, 3, 2, 1, 1), nn.ConvTranspose2d(2, 1, 3, 2, 1, 1))\n"
        "    def forward(self, x):\n        return self.up(x).sigmoid()\nnet = Net()\n"
        "def step(x, y):\n    out = net(x)\n    F.binary_cross_entropy(out, y).backward()\n"
        "step(torch.ones(2, 1, 4, 4), torch.ones(2, 1, 14, 14))\n",
        "nn.ConvTranspose2d(1, 2, 3, 2, 1, 0) in line 8 passes",
    ),
    "the model that gave one of two operands, which another of its class gave": (
        NET.replace("d=4", "names") + "        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, names)\n"
        "    def forward(self, x):\n        return self.head(self.body(x))\n"
        "known, net, x = Net(5), Net(3), torch.ones(2, 4)\n"
        "def step():\n    a, b = net(x), known(x).detach()\n"
        "    F.kl_div(a.log_softmax(1), b.softmax(1)).backward()\nstep()\n",
        "Net(5) in line 11 passes",
    ),
    "the model that gave what a loss of its own module met": (
        NET.replace("d=4", "names")
        + "        self.head = nn.Linear(4, names)\n    def forward(self, x):\n        return self.head(x)\n"
        "known, net, loss, x = Net(5), Net(3), nn.KLDivLoss(), torch.ones(2, 4)\n"
        "def step():\n    a, b = net(x), known(x).detach()\n"
        "    loss(a.log_softmax(1), b.softmax(1)).backward()\nstep()\n",
        "Net(5) in line 11 passes",
    ),
    "a layer within the branch that does not fit": (
        NET.replace("d=4", "stride") + "        self.body = nn.Conv2d(2, 3, 3, stride, 1)\n"
        "        self.skip = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3))\n"
        "    def forward(self, x):\n        return self.body(x) + self.skip(x)\n"
        "Net(2)(torch.ones(2, 2, 8, 8)).sum().backward()\n",
        "nn.Conv2d(2, 3, 1, stride=stride) in line 9 passes",
    ),
    "a number that a class writes several times": (
        NET + "        self.a, self.b = nn.Linear(2 * 7 * 7, d), nn.Linear(2 * 7 * 7, d)\n"
        "        self.c = nn.Linear(d, 2 * 7 * 7)\n"
        "    def forward(self, x):\n        h = x.flatten(1)\n"
        "        return self.c(self.a(h) + self.b(h)).view(-1, 2, 7, 7)\n"
        "net, x = Net(), torch.ones(3, 2, 8, 8)\nF.mse_loss(net(x), x).backward()\n",
        "8 in place of 7 in lines 8, 9, 12 passes",
    ),
    "a table, a part of which ends behind it": (
        NET + "        self.table = nn.Parameter(torch.zeros(d, 3))\n    def forward(self, x):\n"
        "        return x + self.table[: x.size(1)]\nNet()(torch.ones(4, 6, 3)).sum().backward()\n",
        "Net(d=6) in line 11 passes",
    ),
    "what is filled, and is as large as another": (
        HEAD
        + "x, to, layer = torch.ones(4, 3), torch.tensor([0, 1, 1, 2]), nn.Linear(3, 6)\nrows = layer(x)\n"
        "total = torch.zeros_like(x).index_add(0, to, rows)\n(total + layer(x)).sum().backward()\n",
        "torch.zeros(x.shape[0], rows.shape[1]) in line 7 passes",
    ),
}


@pytest.mark.parametrize(("source", "advice"), CASES.values(), ids=CASES)
def test_advises_what_is_made_otherwise(source: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source)
    found, error = explained(path)
    assert found is not None, error
    assert found.advice[:1] == (advice,)


def test_no_size_is_written_of_an_operand_that_has_its_name_in_words() -> None:
    past = Past("zeros_like", None, (3, 5), "float32", False, None, (), False, False, None)
    call = ast.parse("torch.zeros_like(x)", mode="eval").body
    assert isinstance(call, ast.Call)
    others = [Operand("query of layer", (3, 7), "float32", "cpu"), Operand("y", (3, 6), "float32", "cpu")]
    found = [ast.unparse(one) for one in refits._sized(call, past, others, set())]
    assert found == ["torch.zeros(x.shape[0], y.shape[1])", "torch.zeros(y.shape[1], x.shape[1])"]
