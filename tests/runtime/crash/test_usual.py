"""Everyday errors of torch that a sentence explains: what met what, by the program's names, and nothing that is unknown."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.crash.crashes import HEAD, TRAIN
from tests.runtime.crash.running import explained

LSTM = HEAD + "rnn = nn.LSTM(4, 8)\n"
X = HEAD + "x = torch.randn(4, 3)\n"
MASK = X + "mask = x > 0\n"
SAVED = TRAIN + "import argparse, io\nf = io.BytesIO()\ntorch.save(argparse.Namespace(lr=1), f)\nf.seek(0)\n"

GRADIENT = HEAD + (
    "class Scale(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x, w):\n        return x * w\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g, g.sum(1)\n"
    "w = torch.ones(3, requires_grad=True)\n"
)

HIDDEN = HEAD + (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.parts = [nn.Linear(2, 2)]\n"
    "net = Net()\nheld = [p for p in net.parameters()]\n"
)

CASES = (
    (HIDDEN + "torch.optim.SGD(held + held, lr=0.1)", "module", "net (Net) has no parameters"),
    (
        GRADIENT + "Scale.apply(torch.ones(4, 3), w).sum().backward()",
        "backward",
        "Scale.backward gives a gradient of shape (4) for argument 1",
    ),
    (X + "torch.vmap(torch.dot)(x, torch.ones(5, 3))", "shape", "the sizes there are [4, 5]"),
    (MASK + "x.half().masked_fill(mask, -1e9)", "dtype", "the number lies beyond what"),
    (
        HEAD + "p = torch.randn(16, 6, 11).log_softmax(-1)\nn = torch.full((6,), 64)\n"
        "F.ctc_loss(p, torch.ones(6, 2).long(), n, torch.full((6,), 2))",
        "target",
        "n holds 64, and the scores have 16 steps",
    ),
    (X + "a = x.numpy()[::-1]\ntorch.from_numpy(a)", "data", "a is an array that is read backwards"),
    (TRAIN + "loss = model(inputs).mean()\nloss[0]", "index", "loss is one number"),
    (MASK + "1 - mask", "dtype", "applied to mask, a bool tensor"),
    (MASK + "x - mask", "dtype", "applied to mask, a bool tensor"),
    (
        X + "n = torch.tensor([3, 2, 1, 0])\nnn.utils.rnn.pack_padded_sequence(x[..., None], n, True)",
        "data",
        "n holds a length of 0",
    ),
    (LSTM + "out = rnn(torch.randn(5, 2, 4))\nout.shape", "call", "out is a tuple of 2: a tensor (5, 2, 8)"),
    (X + "b, c, h = x.shape", "call", "x.shape is (4, 3)"),
    (TRAIN + "loss = model(inputs).mean().item()\nloss.backward()", "no-graph", "loss is a plain float"),
    (TRAIN + "torch.optim.SGD(model, lr=0.1)", "module", "model holds Linear"),
    (SAVED + "torch.load(f, weights_only=True)", "state", "the file holds argparse.Namespace"),
    (
        X + "w = torch.ones(5, 2)\ntorch.einsum('ij,jk->ik', x, w)",
        "shape",
        "fails on x (4, 3) float32 and w (5, 2)",
    ),
    (X + "if x > 0:\n    pass", "module", "x > 0 has several elements"),
    (
        X + "s = -torch.ones(3)\ntorch.distributions.Normal(x[0], s, validate_args=True)",
        "distribution",
        "s (3,) as scale",
    ),
    (
        HEAD + "class Net(nn.Module):\n    pass\nNet()(torch.ones(2))",
        "module",
        "Net has no method `forward`",
    ),
    (X + "x + torch.ones(2, 3).repeat(1, 2)", "shape", "torch.ones(2, 3).repeat(1, 2) (2, 6) float32"),
    (X + "h = nn.Linear(3, 5)\nF.relu(h(x)) + x", "shape", "F.relu(h(x)) (4, 5) float32 and x (4, 3)"),
    (X + "t = x.new_zeros(2, 9)\nt[:, :6] - x", "shape", "t[:, :6] (2, 6) float32 and x (4, 3)"),
    (X + "F.kl_div(x, torch.ones(4, 5))", "shape", "x (4, 3) float32 and torch.ones(4, 5)"),
    (
        HEAD + "nn.Conv2d(1, 2, 3)(torch.ones(8, 9, 9))",
        "shape",
        "does not take torch.ones(8, 9, 9) (8, 9, 9)",
    ),
    (
        X + "torch.autograd.grad(x.requires_grad_().sum(), torch.ones(1).requires_grad_())",
        "no-graph",
        "not computed from",
    ),
    (X + "import copy\ny = x.requires_grad_() * 2\ncopy.deepcopy(y)", "module", "cannot be copied"),
    (X + "x.to('gpu')", "device", "`gpu` is no device"),
    (
        TRAIN + "model[0].weight.grad.norm()",
        "no-graph",
        "model[0].weight.grad is None: no backward call has reached",
    ),
    (
        X + "F.interpolate(x[None], size=(8, 8))",
        "shape",
        "x[None] (1, 4, 3) has batch and channels first, then [3]",
    ),
    (TRAIN + "path = 'm.pt'\nmodel.load_state_dict(path)", "state", "path is a path"),
    (TRAIN + "gone = model.parameters()\nlist(gone)\ntorch.optim.SGD(gone)", "module", "gone is a generator"),
    (TRAIN + "y = model(inputs)\ny.requires_grad = False", "no-graph", "y is the result of an operation"),
    (X + "import numpy as np\nnp.mean(x.requires_grad_() * 2)", "no-array", "NumPy calls its mean"),
    (HEAD + "rows = [[1, 2], [3]]\ntorch.tensor(rows)", "shape", "rows is ragged"),
    (
        HEAD + "torch.ones(2, requires_grad=True, dtype=torch.int64)",
        "dtype",
        "an integer tensor has no gradient",
    ),
    (
        HEAD
        + "class Data(torch.utils.data.Dataset):\n    pass\ntorch.utils.data.DataLoader(Data(), shuffle=True)",
        "data",
        "RandomSampler asks a Data for its length",
    ),
    (
        X + "n = nn.BCEWithLogitsLoss(pos_weight=torch.ones(7))\nn(x, x)",
        "shape",
        "does not take x (4, 3)",
    ),
    (
        X + "i = torch.tensor([[0, 1], [9, 2]])\nx[i[1]]",
        "index",
        "i[1] holds 9 at 0; dimension 0 has 4 entries",
    ),
    (
        HEAD + "e = nn.Embedding(5, 2)\ne(torch.tensor([-1]))",
        "index",
        "holds -1 at 0; e (Embedding(5, 2)) has 5 rows",
    ),
    (
        TRAIN + "h = model(inputs).exp()\nh.sum().backward()\nh.mean().backward()",
        "second-backward",
        "h was made before",
    ),
    (TRAIN + "def run(x):\n    model(x)\nF.mse_loss(run(inputs), inputs)", "module", "run(inputs) is None"),
    (TRAIN + "model.load_state_dict({'net': model.state_dict()})", "state", "under 'net' of what is loaded"),
    (
        TRAIN + "saved = {'net': model.state_dict()}\nsaved['model']",
        "call",
        "saved is a dict with the keys 'net'",
    ),
    (HEAD + "m = nn.Linear(2, 2, device='meta')\nm.to('cpu')", "device", "m holds no data"),
    (X + "torch.linalg.cholesky(-torch.eye(3))", "matrix", "-torch.eye(3) (3, 3) is not positive definite"),
    (HEAD + "nn.ModuleList([nn.Identity()])(1)", "module", "a ModuleList holds modules"),
    (
        HEAD + "h = torch.ones(3, requires_grad=True).tanh()\nF.relu(h, inplace=True).sum().backward()",
        "in-place",
        "that tanh kept",
    ),
    (X + "mask = torch.ones(7)\nx.masked_fill(mask == 0, 0.0)", "shape", "mask == 0 (7,) bool"),
    (LSTM + "rnn(torch.ones(5, 2, 4).double())", "dtype", "is float64, weight_ih_l0 of rnn is float32"),
    (X + "m = torch.full((4,), 255)\nF.cross_entropy(x, m)", "target", "m holds 255 at 0"),
    (
        HEAD + "s = torch.ones(2, 5, 8, 8)\ny = torch.ones(2, 1, 8, 8).long()\nF.cross_entropy(s, y)",
        "target",
        "has a dimension too many",
    ),
    (X + "names = ('a', 'b')\nF.cross_entropy(x, names)", "module", "names is a tuple of str"),
)

UNTOLD = (
    "import torch\nraise RuntimeError('Torch not compiled with CUDA enabled')",
    "a, b = 'one'",
    "len(object())",
    "list(3)",
    "{'epoch': 3}['model']",
    "class Model:\n    fc1 = 1\nModel().fc2",
    "(1, 2).shape",
)


@pytest.mark.parametrize(("source", "kind", "says"), CASES, ids=lambda one: None)
def test_a_sentence_names_what_failed(source: str, kind: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert (found.kind, says in found.summary) == (kind, True), found.summary


@pytest.mark.parametrize("source", UNTOLD)
def test_what_the_program_did_not_do_itself_is_not_said_of_its_operands(source: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    assert explained(path)[0] is None
