"""Which size is the wrong one: what the layers of a model, and the tensors of the program, agree on."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained

NET = "class Net(nn.Module):\n    def __init__(self, n=6):\n        super().__init__()\n"
RUN = "net = Net()\nnet(torch.ones(4, 6))\n"

# Programs, the advice, and what else is said: a reason, or a place.
CASES = {
    "a branch that nothing changes": (
        NET + "        self.inner, self.same = nn.Linear(6, 8), nn.Sequential(nn.Linear(6, 8))\n"
        "        self.same = nn.Identity()\n    def forward(self, x):\n"
        "        y = torch.tanh(self.inner(x))\n        return torch.relu(y + self.same(x))\n"
        "net = Net()\nnet(torch.ones(4, 6))\n",
        ("nn.Linear(6, 8) in place of self.same passes, and the call gives (4, 8)",),
        "self.same is Identity() | self.same is made here self.same = nn.Identity()",
    ),
    "a branch that is the argument": (
        NET + "        self.inner = nn.Linear(6, 8)\n    def forward(self, x):\n"
        "        y = torch.tanh(self.inner(x))\n        return torch.relu(y + x)\n"
        "net = Net()\nnet(torch.ones(4, 6))\n",
        ("nn.Linear(6, 8) of x passes, and the call gives (4, 8)",),
        "",
    ),
    "a layer before gives what is cut in two": (
        NET + "        self.code, self.out = nn.Linear(6, n), nn.Linear(n, 2)\n"
        "    def forward(self, x):\n        mean, scale = self.code(x).chunk(2, 1)\n        return self.out(mean)\n"
        + RUN,
        ("nn.Linear(6, 2 * n) in line 8 passes",),
        "mean: (4, 3) of (4, 6) self.code(x).chunk(2, 1)",
    ),
    "two layers share a size": (
        NET
        + "        width = n\n        self.norm = nn.BatchNorm1d(width)\n        self.out = nn.Linear(width, 2)\n"
        "    def forward(self, x, more):\n        return self.out(self.norm(torch.cat([x, more], 1)))\n"
        "net = Net()\nnet(torch.ones(4, 6), torch.ones(4, 3))\n",
        ("nn.BatchNorm1d(…, num_features=9) of norm and nn.Linear(…, in_features=9) of out pass",),
        "(4, 9) of (4, 6) and (4, 3) torch.cat([x, more], 1)",
    ),
    "a size that a constructor was given": (
        NET + "        self.out = nn.Linear(n, 2)\n    def forward(self, x):\n        return self.out(x)\n"
        "width = 2 * 4\nnet = Net(width)\nnet(torch.ones(4, 6))\n",
        ("nn.Linear(6, 2) in line 8 passes",),
        "in_features of out, 8, comes from here width = 2 * 4",
    ),
    "one of two equal numbers": (
        "class Net(nn.Module):\n    def __init__(self, mels):\n        super().__init__()\n"
        "        self.out = nn.Linear(4 * (mels // 8) * 8, 2)\n"
        "    def forward(self, x):\n        return self.out(torch.flatten(x, 1))\n"
        "mels = 32\nnet = Net(mels)\nnet(torch.ones(3, 4, 4, 7))\n",
        ("nn.Linear(4 * (mels // 8) * 7, 2) in line 8 passes",),
        "",
    ),
    "features and steps of a recurrent layer": (
        "rnn = nn.GRU(7, 4, batch_first=True)\nx = torch.ones(3, 7, 5)\nrnn(x)\n",
        (
            "x.transpose(1, 2) passes, and the call gives (3, 5, 4)",
            "if the last dimension of x does count the features: nn.GRU(…, input_size=5) of rnn passes",
        ),
        "",
    ),
    "steps of what a convolution gave": (
        NET + "        self.conv, self.rnn = nn.Conv1d(2, 7, 1), nn.GRU(7, 4, batch_first=True)\n"
        "    def forward(self, x):\n        y = self.conv(x)\n        return self.rnn(y)[0]\n"
        "net = Net()\nnet(torch.ones(3, 2, 5))\n",
        ("y.transpose(1, 2) passes, and the call gives (3, 5, 4)",),
        "",
    ),
}


@pytest.mark.parametrize(("source", "advice", "more"), CASES.values(), ids=CASES)
def test_the_size_is_changed_that_nothing_else_agrees_with(
    source: str, advice: tuple[str, ...], more: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source)
    found, _ = explained(path)
    assert found is not None
    assert (found.advice or found.because[-1:]) == advice
    told = [*found.because, *(f"{what} {at.expression}" for what, at in found.other)]
    assert all(any(part in one for one in told) for part in more.split(" | ") if part), told


MORE = {
    "twice as many matrices as samples": (
        NET + "        self.code = nn.Linear(6, 12)\n    def forward(self, x):\n"
        "        turn, box = self.code(x).view(-1, 2, 3), x.view(-1, 1, 2, 3)\n"
        "        grid = F.affine_grid(turn, list(box.shape), align_corners=False)\n"
        "        return F.grid_sample(box, grid, align_corners=False)\n"
        "net = Net()\nnet(torch.ones(4, 6))\n",
        ("nn.Linear(6, 6) in line 8 passes",),
    ),
    "a view of what a convolution gives": (
        NET + "        self.conv = nn.Conv2d(3, 8, 1)\n    def forward(self, x):\n        y = self.conv(x)\n"
        "        return y.view(x.size(0), 3, 4, 5, 5)\nnet = Net()\nnet(torch.ones(2, 3, 5, 5))\n",
        ("nn.Conv2d(3, 12, 1) in line 8 passes",),
    ),
    "a number for each channel": (
        "x = torch.ones(3, 6, 6)\ny = (x - torch.ones(3)) / torch.ones(3)\n",
        ("torch.ones(3)[:, None, None] passes, and the call gives (3, 6, 6)",),
    ),
    "numbers that are written into whole numbers": (
        "table = torch.full((4, 2), 0)\ntable[1] += torch.ones(2) * 0.5\n",
        ("torch.full((4, 2), 0).float() in line 5 passes",),
    ),
    "arguments that are called as they are taken": (
        "def mixed(x, y):\n    part = torch.ones(len(x))\n    return part * x\n"
        "x, y = torch.ones(6, 2), torch.ones(6).long()\nmixed(x, y)\n",
        ("part.unsqueeze(1) passes, and the call gives (6, 2)",),
    ),
    "lengths of the samples of the second dimension": (
        "x, lengths = torch.ones(7, 3, 2), torch.tensor([7, 5, 4])\n"
        "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)\n",
        ("x.transpose(0, 1) passes, and the call gives (16, 2)",),
    ),
    "weights of a loss": (
        "loss = nn.CrossEntropyLoss(torch.ones(3).double())\nloss(torch.ones(2, 3), torch.zeros(2).long())\n",
        ("loss.to(torch.float32) in line 6 passes",),
    ),
    "a total of all losses": (
        "net, total = nn.Linear(2, 1), 0.0\nfor _ in range(2):\n    loss = net(torch.ones(1, 2)).exp().sum()\n"
        "    total += loss\n    total.backward()\n",
        ("backward() of the loss of each step, and loss.item() in `total += loss`",),
    ),
    "a row that is set": (
        "table = nn.Parameter(torch.ones(3, 2))\ntable[0] = 0.0\n",
        ("with torch.no_grad(): around the write passes",),
    ),
    "features of two layers behind each other": (
        NET + "        self.a, self.b = nn.Conv1d(2, 3, 1), nn.Conv1d(3, 4, 1)\n"
        "    def forward(self, x):\n        y = self.a(torch.cat([x, x], 1))\n"
        "        return self.b(torch.cat([y, x], 1))\nnet = Net()\nnet(torch.ones(5, 2, 7))\n",
        ("nn.Conv1d(…, in_channels=4) of a and nn.Conv1d(…, in_channels=5) of b pass",),
    ),
    "keys of another size": (
        "x, y, attend = torch.ones(2, 3, 8), torch.ones(2, 5, 6), nn.MultiheadAttention(8, 2, batch_first=True)\n"
        "attend(x, y, y)\n",
        ("nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=6) in line 5 passes",),
    ),
    "heads that do not divide": (
        NET.replace("n=6", "heads") + "        self.heads = heads\n    def forward(self, x):\n"
        "        return x.view(2, self.heads, 12 // self.heads)\nnet = Net(5)\nnet(torch.ones(2, 12))\n",
        ("4 in place of 5 in line 11 passes: 12 // 5 is 2, and leaves 2",),
    ),
    "a view to rows of another length": (
        NET + "        self.out = nn.Linear(9, 2)\n    def forward(self, x):\n"
        "        return self.out(x.view(-1, 9))\nNet()(torch.ones(3, 2, 5))\n",
        ("x.flatten(1), which keeps the 3 samples: shape (3, 10)",),
    ),
    "one weight for each row of an index": (
        "out, index, weight = torch.zeros(2, 3), torch.zeros(2, 4).long(), torch.ones(2)\n"
        "out.scatter_add_(1, index, weight)\n",
        ("weight.unsqueeze(1).expand_as(index) passes, and the call gives (2, 3)",),
    ),
    "an argument that the batch holds": (
        "batch = {'x': torch.ones(2), 'y': torch.ones(2)}\ndef step(x, y):\n    return x + y\nstep(batch['x'])\n",
        (
            "step(batch['x'], batch['y']) in line 8 passes",
            "step takes (x, y): missing a required argument: 'y'",
        ),
    ),
    "labels of another shape and another dtype": (
        "net, x, y = nn.Linear(3, 1), torch.ones(4, 3), torch.tensor([0, 1, 1, 0])\n"
        "nn.BCEWithLogitsLoss()(net(x), y).backward()\n",
        ("net(x).squeeze(-1) and y.float() pass",),
    ),
    "images of another order and another dtype": (
        "nn.Conv2d(3, 4, 3)(torch.ones(2, 8, 8, 3, dtype=torch.uint8))\n",
        (
            "torch.ones(2, 8, 8, 3, dtype=torch.uint8).float().permute(0, 3, 1, 2) passes, and the call gives (2, 4, 6, 6)",
        ),
    ),
    "one number of several losses, after a step": (
        "net = nn.Linear(3, 2)\noptimizer = torch.optim.SGD(net.parameters())\n"
        "for _ in range(2):\n    losses = net(torch.ones(4, 3)).sum(1)\n    losses.mean().backward()\n"
        "    optimizer.step()\n    told = losses.item()\n",
        ("losses.mean() passes",),
    ),
    "columns of indices beside one of fractions": (
        "rows = torch.tensor([[0.0, 1.0, 0.5], [1.0, 0.0, 0.25]])\nusers, items = nn.Embedding(2, 3), nn.Embedding(2, 3)\n"
        "told = users(rows[:, 0]) * items(rows[:, 1])\nif rows[0, 2] != 0.5:\n    raise ValueError\n",
        ("rows[:, 0].long() and rows[:, 1].long() pass, and the call gives (2, 3)",),
    ),
    "an index that is a mask of floats": (
        "x, keep = torch.ones(3, 2), torch.tensor([1.0, 0.0, 1.0])\nx[keep]\n",
        ("keep.bool() passes, and the call gives (2, 2)",),
    ),
    "a sample without a batch, after training": (
        "net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))\nsample = torch.ones(3)\nnet(sample)\n",
        ("net.eval() and sample.unsqueeze(0) in line 7 pass",),
    ),
    "a product whose places are others": (
        NET + "        self.conv, self.out = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(2 * 2 * 5 * 5, 3)\n"
        "    def forward(self, x):\n        return self.out(self.conv(x).flatten(1))\n"
        "Net()(torch.ones(2, 1, 6, 6))\n",
        ("nn.Linear(2 * 2 * 6 * 6, 3) in line 8 passes",),
    ),
    "a size of the data in a product": (
        "class Net(nn.Module):\n    def __init__(self, size=8):\n        super().__init__()\n"
        "        self.conv, self.out = nn.Conv2d(1, 3, 3, padding=1), nn.Linear(3 * (size - 1) * size, 3)\n"
        "    def forward(self, x):\n        return self.out(self.conv(x).flatten(1))\n"
        "Net()(torch.ones(2, 1, 5, 6))\n",
        ("Net(size=6) in line 11 passes",),
    ),
    "a size of the data behind names of a constructor": (
        "class Net(nn.Module):\n    def __init__(self, channels=(2, 3), size=8):\n        super().__init__()\n"
        "        first, last = channels\n        side = size // 2\n"
        "        self.conv, self.pool = nn.Conv2d(1, last, 3, padding=1), nn.MaxPool2d(2)\n"
        "        self.out = nn.Linear(last * side * side, 3)\n"
        "    def forward(self, x):\n        return self.out(self.pool(self.conv(x)).flatten(1))\n"
        "Net()(torch.ones(2, 1, 6, 6))\n",
        ("Net(size=6) in line 14 passes",),
    ),
    "arguments that a maker of models hands on": (
        "class Net(nn.Module):\n    def __init__(self, width, depth):\n        super().__init__()\n"
        "        self.all = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))\n"
        "        self.out = nn.Linear(width, 1)\n"
        "def made(width=2, depth=1):\n    return Net(width, depth)\n"
        "large, small = made(4, 3), made()\nsmall.load_state_dict(large.state_dict())\n",
        ("made(width=4, depth=3) in line 12 passes",),
    ),
    "a part of a saved model": (
        "net = nn.ModuleDict({'body': nn.Linear(2, 2), 'head': nn.Linear(2, 1)})\nbody = nn.Linear(2, 2)\n"
        "body.load_state_dict(net.state_dict())\n",
        (
            "{key.removeprefix('body.'): value for key, value in net.state_dict().items() if key.startswith('body.')}"
            " in line 7 passes",
        ),
    ),
    "an advantage of single observations": (
        "critic, actor, x = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), nn.Linear(2, 1), torch.ones(2)\n"
        "first, second = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (critic, actor))\n"
        "value = critic(x).squeeze(-1)\nadvantage = 1 - value\nadvantage.square().backward(retain_graph=True)\n"
        "first.step()\nloss = (actor(x) * advantage).mean()\nloss.backward()\nsecond.step()\n",
        ("advantage.detach() in line 11 passes",),
    ),
    "a mask of two views of each sample, and a short batch": (
        "from torch.utils.data import DataLoader\n"
        "loader, eye = DataLoader([torch.ones(3)] * 7, batch_size=5), torch.eye(10).bool()\n"
        "for x in loader:\n    both = torch.cat([x, x])\n    sim = both @ both.T\n    sim = sim.masked_fill(eye, 0)\n",
        (
            "eye[:sim.shape[1], :sim.shape[1]] passes, and the call gives (4, 4)",
            "drop_last=True in line 6 passes",
            "eye made anew for a batch of another size",
        ),
    ),
    "a layer before the model": (
        "model = nn.TransformerEncoderLayer(8, 4, batch_first=True)\ntable = nn.Embedding(9, 6)\n"
        "model(table(torch.tensor([[1, 2]])))\n",
        ("nn.Embedding(9, 8) in line 6 passes",),
    ),
    "lengths that do not decrease": (
        "x, lengths = torch.ones(2, 4, 3), torch.tensor([2, 4])\n"
        "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)\n",
        (
            "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False) in line 6 passes",
        ),
    ),
    "a sequence that has grown beyond its places": (
        "class Config:\n    block_size = 4\n"  # its default, which the call was not given
        "class Net(nn.Module):\n    def __init__(self, block_size):\n        super().__init__()\n"
        "        self.block_size, self.pos = block_size, nn.Embedding(block_size, 2)\n"
        "    def forward(self, idx):\n        return self.pos(torch.arange(idx.shape[1]))\n"
        "    @torch.no_grad()\n    def grow(self, idx):\n        while idx.shape[1] < 6:\n"
        "            idx = torch.cat([idx, self(idx).argmax(1)[None, -1:]], dim=1)\n        return idx\n"
        "Net(4).grow(torch.zeros(1, 2).long())\n",
        ("idx[:, -self.block_size:] in line 16 passes", "Net(5) in line 18 passes"),
    ),
    "a method of a module that was not made": (
        "class Net(nn.Module):\n    def __init__(self):\n        self.out = nn.Linear(2, 2)\nNet()\n",
        ("super().__init__() before line 7 passes, as the first of __init__",),
    ),
    "one parameter for a list": (
        "w = torch.ones(2, requires_grad=True)\ntorch.optim.SGD(w, lr=0.1)\n",
        ("[w] in line 6 passes",),
    ),
    "a truth of several": (
        "a, b = torch.ones(2), torch.ones(2)\nif a == b:\n    told = True\n",
        (
            "(a == b).all() in line 6 passes",
            "(a == b).any() in line 6 passes",
            "& and | for `and` and `or` of each element",
        ),
    ),
    "a module for its parameters": (
        "net = nn.Linear(2, 2)\ntorch.optim.SGD(net, lr=0.1)\n",
        ("net.parameters() in line 6 passes",),
    ),
    "rows of numbers": (
        "rows = [[1.0, 2.0]]\nnn.Linear(2, 2)(rows)\n",
        ("torch.tensor(rows) in line 6 passes",),
    ),
    "scores of a discriminator that has stepped": (
        "a, b, x = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), torch.ones(3, 2)\n"
        "first, second = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (a, b))\n"
        "fake = a(x)\nscore = b(fake)\nb(fake.detach()).mean().backward()\nsecond.step()\n"
        "loss = -score.mean()\nloss.backward()\nfirst.step()\n",
        ("`score = b(fake)` moved from line 8 to below line 10 passes",),
    ),
    "an image without a batch": (
        NET + "        self.conv, self.out = nn.Conv2d(1, 2, 3), nn.Linear(18, 2)\n"
        "    def forward(self, x):\n        return self.out(self.conv(x).flatten(1))\n"
        "image = torch.ones(1, 5, 5)\nNet()(image)\n",
        ("image.unsqueeze(0) in line 12 passes", "nn.Linear(9, 2) in line 8 passes"),
    ),
    "a mask that is written": (
        "x = torch.ones(3, requires_grad=True).sigmoid()\nx[x > 0.5] = 0\nx.sum().backward()\n",
        ("x = torch.where(x > 0.5, 0, x) in line 6 passes",),
    ),
    "columns that are unpacked as rows": (
        "edges = torch.ones(5, 2)\nfrom_, to = edges\n",
        ("from_, to = edges.unbind(1)",),
    ),
    "losses that are made a new tensor": (
        "net = nn.Linear(3, 1)\nlosses = [net(torch.ones(2, 3)).mean() for _ in range(2)]\n"
        "total = torch.tensor(losses).sum()\ntotal.backward()\n",
        ("torch.stack(losses) in line 7 passes, which keeps the graphs of what it joins",),
    ),
    "losses that a function gathers in a list of its own": (
        "net = nn.Linear(3, 1)\ndef mean(rows):\n    losses = []\n    for row in rows:\n"
        "        losses.append(row.sum())\n    return torch.tensor(losses).mean()\n"
        "out = net(torch.ones(2, 3))\nloss = mean(out)\nloss.backward()\n",
        ("torch.stack(losses) in line 10 passes, which keeps the graphs of what it joins",),
    ),
    "a matrix of whole numbers beside what is trained": (
        "weight, near = nn.Parameter(torch.ones(3, 2)), torch.ones(4, 4).long()\n"
        "support = torch.ones(4, 3) @ weight\ntorch.mm(near, support)\n",
        ("near.float() passes, and the call gives (4, 2)",),
    ),
    "scores of fewer places than the labels": (
        "scores, mask = nn.Conv2d(1, 3, 1)(torch.ones(2, 1, 4, 4)), torch.zeros(2, 8, 8).long()\n"
        "F.cross_entropy(scores, mask)\n",
        ("F.interpolate(scores, size=mask.shape[-2:]) passes",),
    ),
    "pieces of another size than those that are named": (
        "x = torch.ones(2, 12)\nq, k, v = torch.relu(x).split(2, dim=1)\n",
        ("pieces of 4 are 3; those of 2 are 6",),
    ),
    "a weight for each class beside a loss for each sample": (
        "alpha, target, loss = torch.ones(4), torch.tensor([0, 3, 1, 0, 2, 1]), torch.ones(6)\nalpha * loss\n",
        ("alpha[target] takes that of each of the 6",),
    ),
    "parameters of a name that none has": (
        "net = nn.Linear(2, 2)\nparams = [p for name, p in net.named_parameters() if 'lora_' in name]\n"
        "torch.optim.SGD(params, lr=0.1)\n",
        ("see what 'weight' and its like are called, and who was to add 'lora_'",),
    ),
    "a list in place of a batch": (
        "def collate(rows):\n    batch = {'x': [row for row in rows]}\n    return batch\n"
        "for batch in torch.utils.data.DataLoader([torch.ones(2)] * 4, 2, collate_fn=collate):\n"
        "    batch['x'].to('cpu')\n",
        ("torch.stack(batch['x']).to in line 9 passes, here or where the list is made",),
    ),
    "a mask of floats": (
        "mask = torch.tensor([1.0, 0.0])\n~mask\n",
        ("mask.bool() passes, and the call gives (2,)",),
    ),
    "names in place of numbers": (
        "names = ['a', 'b']\nnn.CrossEntropyLoss()(torch.ones(2, 3), names)\n",
        ("make numbers of them, and a tensor of these",),
    ),
    "probabilities that are scores": (
        "scores = torch.tensor([[1.0, -2.0]])\ntorch.distributions.Categorical(probs=scores)\n",
        (
            "scores.softmax(-1) in line 6 passes",
            "torch.distributions.Categorical(logits=scores) in line 6 passes",
        ),
    ),
}


@pytest.mark.parametrize(("source", "advice"), MORE.values(), ids=MORE)
def test_advises_one_change_of_what_was_meant(source: str, advice: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source)
    found, _ = explained(path)
    assert found is not None
    assert (found.advice or found.because[-1:]) == advice


def test_a_product_that_fails_alike_is_told(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEAD + "a, b, x = torch.ones(3), torch.ones(3), torch.ones(3, 2)\na * x + b * x\n")
    found, _ = explained(path)
    assert found is not None
    assert found.advice[0].startswith("a.unsqueeze(1) and b.unsqueeze(1) pass")


def test_a_list_is_named_whose_graphs_were_freed(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "x = torch.ones(2, requires_grad=True)\ntargets = [(x * 2).exp() for _ in range(2)]\n"
        "for _ in range(2):\n    sum((x - one).exp().sum() for one in targets).backward()\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.advice[0] == "list(one.detach() for one in targets) where only its value is wanted"


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
