"""What a script tells when it is run once more in a copy of the process."""

from pathlib import Path

import pytest

from tests.forks import Servers
from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained, explained_apart

NET = HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
DATA = HEAD + "from torch.utils.data import DataLoader, Dataset\nclass Rows(Dataset):\n"

CASES = {
    "a cast where two uses of a value need it": (
        HEAD + "labels = (torch.rand(6) > 0.5).long()\nscores = torch.zeros(6)\n"
        "for part in (scores, scores + 1):\n    F.binary_cross_entropy_with_logits(part, labels)\n"
        "F.binary_cross_entropy(scores.sigmoid(), labels)\n",
        "(torch.rand(6) > 0.5).long().float() in line 5 passes",
        "labels is int64 from here on: (torch.rand(6) > 0.5).long()",
    ),
    "the same call with its arguments exchanged in two lines": (
        HEAD
        + "def loss(scores, labels):\n    return F.cross_entropy(scores, labels) + scores.softmax(1).sum()\n"
        "s, y = torch.ones(4, 3), torch.zeros(4).long()\nloss(y, s)\nloss(y, s + 1)\n",
        "loss(s, y) in line 8 and loss(s + 1, y) in line 9 pass",
        "",
    ),
    "the graph of what an array is asked of": (
        HEAD
        + "scale = nn.Parameter(torch.ones(3))\nwide = scale.exp()\n(2 * wide).numpy()\n(wide + 1).numpy()\n",
        "scale.exp().detach() in line 6 passes",
        "the graph of 2 * wide begins here: scale.exp()",
    ),
    "one number for each sample of a loss": (
        HEAD + "w, rate = torch.ones(3, requires_grad=True), nn.MSELoss(reduction='none')\n"
        "loss = rate(w, torch.zeros(3))\nloss.backward()\nprint(loss.item())\n",
        "rate(w, torch.zeros(3)).mean() in line 6 passes",
        "rate is MSELoss(), made with reduction='none'",
    ),
    "numbers past the entries that they pick": (
        HEAD
        + "one = torch.tensor([0, 1, 2])\nboth = torch.cat([one, one + 3])\ntorch.ones(4, 2).index_select(0, both)\n",
        "",
        "both reaches 5 here first, of 0 … 2: one + 3",
    ),
    "sizes that two operations change": (
        NET + "        self.a, self.b = nn.Conv1d(2, 2, 4, padding=1), nn.Conv1d(2, 2, 4, padding=1)\n"
        "    def forward(self, x):\n        h = self.b(self.a(x))\n        return x * h\nNet()(torch.ones(3, 2, 9))\n",
        "",
        "before that: (3, 2, 8) of (3, 2, 9): self.a(x)",
    ),
    "a parameter that later gradients need": (
        HEAD
        + "net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))\ntotal = 0.0\nfor scale in (1.0, 2.0):\n"
        "    fast, x = dict(net.named_parameters()), torch.ones(2, 1)\n"
        "    loss = torch.func.functional_call(net, fast, (scale * x,)).square().sum()\n"
        "    slopes = torch.autograd.grad(loss, list(fast.values()), create_graph=True)\n"
        "    for name, slope in zip(fast, slopes):\n        fast[name] -= 0.1 * slope\n"
        "    total = total + torch.func.functional_call(net, fast, (x,)).sum()\ntotal.backward()\n",
        "fast[name] = fast[name] - 0.1 * slope passes",
        "net[0].weight, which asks for gradients",
    ),
    "an advantage that the critic's step has made old": (
        HEAD
        + "actor, critic, x = nn.Linear(2, 1), nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), torch.ones(4, 2)\n"
        "first, second = (torch.optim.SGD(one.parameters(), lr=0.1) for one in (critic, actor))\n"
        "advantage = 1 - critic(x)\nadvantage.square().mean().backward(retain_graph=True)\nfirst.step()\n"
        "loss = (actor(x) * advantage).mean()\nloss.backward()\nsecond.step()\n",
        "advantage.detach() in line 10 passes",
        "`first.step()` came between `critic(x)` in line 7 and this backward call",
    ),
    "a view of what a method gives twice": (
        HEAD + "class Schedule:\n    def __init__(self):\n        self.scale = torch.linspace(0, 1, 9)\n"
        "    def at(self, values, t):\n        return values.gather(0, t)\n    def noisy(self, x, t):\n"
        "        mean = self.at(self.scale, t) * x\n        spread = self.at(1 - self.scale, t)\n"
        "        return mean + spread * x\nfor _ in range(2):\n"
        "    Schedule().noisy(torch.ones(4, 1, 6, 6), torch.randint(0, 9, (4,)))\n",
        "values.gather(0, t)[:, None, None, None] in line 9 passes",
        "`*` fails on x (4, 1, 6, 6) float32 and self.at(self.scale, t) (4,) float32",
    ),
    "a vocabulary that does not count all its words": (
        HEAD
        + "class Vocab:\n    words = ['a', 'b', 'c']\n    def __len__(self):\n        return len(self.words)\n"
        "vocab = Vocab()\ntable = nn.Embedding(len(vocab), 2)\nfor one in ([0, 3], [4, 1]):\n    table(torch.tensor(one))\n",
        "len(self.words) + 2 in line 8 passes",
        "num_embeddings, 3, comes from here: len(self.words)",
    ),
    "a state whose last layer alone has another size": (
        NET + "        self.body, self.head = nn.Linear(2, 3), nn.Linear(3, 4)\n"
        "saved, net = Net().state_dict(), Net()\nnet.head = nn.Linear(3, 2)\nnet.load_state_dict(saved)\n",
        "net.load_state_dict({key: one for key, one in saved.items() if not key.startswith('head.')}, strict=False)"
        " in line 11 passes",
        "head.weight is [4, 3] in the state and [2, 3] in Net, head.bias is [4] in the state and [2]",
    ),
    "a state that a loop hands to a function": (
        HEAD + "net, head = nn.RNN(2, 3), nn.Linear(3, 2)\ndef step(state):\n"
        "    out, state = net(torch.ones(4, 2), state)\n    head(out).sum().backward()\n    return out, state\n"
        "state = torch.zeros(1, 3)\nfor _ in range(3):\n    out, state = step(state)\n    print(out.sum().item())\n",
        "state = state.detach() after line 12 passes",
        "the backward call that freed it, in an earlier turn: head(out).sum().backward()",
    ),
    "samples that a function pads and does not cut": (
        DATA + "    length = 4\n    def __len__(self):\n        return 6\n    def __getitem__(self, i):\n"
        "        return fit(torch.ones(3 + i // 2), self.length)\n"
        "def fit(row, size):\n    missing = size - row.shape[-1]\n    if missing > 0:\n"
        "        row = F.pad(row, (0, missing))\n    return row\n"
        "loader = DataLoader(Rows(), 6)\nfor batch in loader:\n    batch.view(6, 4)\n",
        "row[..., :size] in line 16 passes",
        "the samples of a batch differ: sample 4 is a tensor (5,)",
    ),
    "a loader without the collate_fn of another, in a comprehension": (
        DATA
        + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        return torch.ones(2 + i)\n"
        "def pad(rows):\n    return nn.utils.rnn.pad_sequence(rows)\n"
        "first = DataLoader(Rows(), 2, collate_fn=pad)\nsecond = DataLoader(Rows(), 2)\n"
        "print([batch.sum() for batch in second])\n",
        "collate_fn=pad in line 14 passes",
        "",
    ),
    "a loader without the collate_fn of another, of which one batch is taken": (
        DATA
        + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        return torch.ones(2 + i)\n"
        "def pad(rows):\n    return nn.utils.rnn.pad_sequence(rows)\n"
        "first = DataLoader(Rows(), 2, collate_fn=pad)\nsecond = DataLoader(Rows(), 2)\n"
        "print(next(iter(second)).sum())\n",
        "collate_fn=pad in line 14 passes",
        "",
    ),
    "targets that were made for a whole batch": (
        HEAD
        + "from torch.utils.data import DataLoader\ntargets = torch.arange(4)\nloader = DataLoader(torch.ones(6, 3), 4)\n"
        "for x in loader:\n    F.cross_entropy(x @ x.T, targets)\n",
        "drop_last=True in line 7 passes",
        "the last batch of loader has 2 samples of 4 (6 = 1 · 4 + 2), and targets is for 4",
    ),
    "the same, where a function makes two loaders and shuffles one": (
        HEAD + "from torch.utils.data import DataLoader\ntargets = torch.arange(4)\ndef load(train):\n"
        "    return DataLoader(torch.ones(6, 3), 4, shuffle=train)\nloader, other = load(True), load(False)\n"
        "for x in loader:\n    F.cross_entropy(x @ x.T, targets)\n",
        "drop_last=train in line 8 passes",
        "the last batch of loader has 2 samples of 4",
    ),
    "targets from which nothing was cut": (
        HEAD + "ids, table = torch.ones(2, 5).long(), nn.Embedding(3, 3)\ndef scores(ids):\n"
        "    return table(ids[:, :-1])\nlogits = scores(ids)\n"
        "F.cross_entropy(logits.reshape(-1, 3), ids.reshape(-1)).backward()\n",
        "ids[:, 1:] in line 9 passes",
        "logits.reshape(-1, 3) is made of a part of what ids.reshape(-1) is made of",
    ),
    "a slice of a table that ends behind it": (
        HEAD + "table = torch.ones(4, 3)\ndef add(x):\n    return x + table[: x.size(1)]\n"
        "add(torch.ones(2, 6, 3))\n",
        "",
        "table[:x.size(1)] asks for 6, and dimension 0 of table has 4 entries",
    ),
    "a mask of more dimensions, once for the longest sequence": (
        HEAD + "mask = torch.ones(9, 9).tril().view(1, 1, 9, 9)\ndef hide(scores):\n"
        "    return scores.masked_fill(mask == 0, -1e9)\nhide(torch.ones(2, 4, 4, 4))\n",
        "(mask == 0)[..., :scores.shape[3], :scores.shape[3]] passes",
        "mask == 0 (1, 1, 9, 9) bool",
    ),
    "targets of two classes that are not 0 and 1": (
        HEAD + "loss = nn.BCELoss()\ndef step(x, y):\n    loss(x, y)\n"
        "y = (torch.arange(4) % 2).float() + 1\nstep(torch.ones(4) / 2, y)\n",
        "(torch.arange(4) % 2).float() + 1 - 1 in line 8 passes: targets are 0 and 1, or probabilities",
        "y holds 2 at 1",
    ),
    "targets that are bytes": (
        HEAD + "loss = nn.BCELoss()\nloss(torch.ones(4) / 2, torch.tensor([0, 255, 0, 255]).float())\n",
        "torch.tensor([0, 255, 0, 255]).float() / 255 passes: targets are 0 and 1, or probabilities",
        "",
    ),
    "scores in place of probabilities": (
        HEAD + "loss = nn.BCELoss(reduction='sum')\nloss(torch.ones(4) * 2, torch.ones(4))\n",
        "(torch.ones(4) * 2).sigmoid() passes: binary_cross_entropy_with_logits takes scores",
        "",
    ),
    "a mark that the loss of the program can be told to leave out": (
        HEAD
        + "class Loss(nn.Module):\n    def __init__(self, ignore_index=-100):\n        super().__init__()\n"
        "        self.mark = ignore_index\n    def forward(self, x, y):\n"
        "        loss = F.cross_entropy(x, y, ignore_index=self.mark)\n"
        "        return loss + F.one_hot(y.masked_fill(y == self.mark, 0), 3).float().mean()\n"
        "loss = Loss()\nloss(torch.ones(4, 3), torch.tensor([0, 255, 1, 2]))\n",
        "Loss(ignore_index=255) in line 12 passes, if it marks what has no label",
        "holds 255 at 1",
    ),
    "heads that do not divide the features, where an option tells them": (
        HEAD + "import argparse\nclass Block(nn.Module):\n    def __init__(self, dim, heads):\n"
        "        super().__init__()\n        self.attention = nn.MultiheadAttention(dim, heads)\n"
        "options = argparse.ArgumentParser()\noptions.add_argument('--heads', type=int, default=8)\n"
        "args = options.parse_args([])\nBlock(20, args.heads)\n",
        "10 in place of 8 in line 11 passes",
        "8 heads do not divide 20 features: 20 // 8 is 2, and leaves 4",
    ),
    "a model that was made before its table was counted to the end": (
        HEAD + "words = {'a': 0, 'b': 1}\ndef run():\n    table = nn.Embedding(len(words), 2)\n"
        "    words['c'] = 2\n    ids = torch.tensor([words['c']])\n    return table(ids)\nrun()\n",
        "`table = nn.Embedding(len(words), 2)` after line 9 passes",
        "",
    ),
    "classes of a head that a dictionary tells": (
        HEAD + "tasks = {'age': 1, 'mood': 3}\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.heads = nn.ModuleDict({task: nn.Linear(2, n) for task, n in tasks.items()})\n"
        "    def forward(self, x):\n        return {task: head(x) for task, head in self.heads.items()}\n"
        "net = Net()\nout = net(torch.ones(4, 2))\nassert out['age'].shape[1] == 1\n"
        "F.cross_entropy(out['mood'], torch.tensor([0, 3, 1, 2]))\n",
        "4 in place of 3 for 'mood' in line 5 passes",
        "",
    ),
    "a part of a sample, by its name": (
        DATA
        + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        rows = torch.ones(2 + i)\n"
        "        return rows, i\nfor x in DataLoader(Rows(), 2):\n    pass\n",
        "pad_sequence",
        "rows of sample 1 is a tensor (3,) of float32, of others a tensor (2,) of float32",
    ),
    "a mask that a layer within views": (
        HEAD + "net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 1)\n"
        "mask = torch.ones(6, 6).triu(1).bool()\nnet(torch.ones(2, 4, 8), mask=mask)\n",
        "mask[:4, :4] passes",
        "mask (6, 6) bool",
    ),
    "a second class that an image writes as 255": (
        HEAD + "labels = torch.tensor([0, 255, 0])\nloss = nn.CrossEntropyLoss()\n"
        "loss(torch.ones(3, 2), labels)\n",
        "it stands for the second class: (torch.tensor([0, 255, 0]) == 255).long() in line 5 passes",
        "labels holds 255 at 1; torch.ones(3, 2) has 2 classes",
    ),
    "a mark that the loss of a trainer leaves out": (
        HEAD + "class Trainer:\n    def __init__(self):\n        self.loss = nn.CrossEntropyLoss()\n"
        "    def step(self, scores, labels):\n        return self.loss(scores, labels)\n"
        "Trainer().step(torch.ones(3, 2), torch.tensor([0, 255, 1]))\n",
        "nn.CrossEntropyLoss(ignore_index=255) in line 7 passes, if it marks what has no label",
        "labels holds 255 at 1",
    ),
    "a switch of the layer that an encoder copies": (
        HEAD
        + "layer = nn.TransformerEncoderLayer(4, 2)\nnet, x = nn.TransformerEncoder(layer, 1), torch.ones(3, 5, 4)\n"
        "net(x, src_key_padding_mask=torch.zeros(3, 5).bool())\n",
        "nn.TransformerEncoderLayer(4, 2, batch_first=True) in line 5 passes",
        "",
    ),
    "an optimizer of what was frozen": (
        HEAD + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\nnet.requires_grad_(False)\n"
        "torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.1)\n",
        "net[1].requires_grad_(True) after line 6 passes",
        "parameters are taken out of training here: net.requires_grad_(False)",
    ),
    "a list that keeps what another one forgets": (
        HEAD + "class Agent:\n    def __init__(self):\n        self.scores, self.gains = [], []\n"
        "    def play(self):\n        self.scores.append(torch.ones(()))\n        self.gains.append(2.0)\n"
        "    def update(self):\n        total = (torch.stack(self.scores) * torch.tensor(self.gains)).sum()\n"
        "        self.gains = []\n        return total\nagent = Agent()\nfor _ in range(2):\n"
        "    agent.play()\n    agent.play()\n    agent.update()\n",
        "self.scores.clear() after line 13 passes",
        "torch.stack(self.scores) (4,) float32",
    ),
    "classes of which a count leaves one out": (
        HEAD + "names = ['a', 'b']\nnet = nn.Linear(2, len(names))\nfor labels in ([0, 2], [3, 1]):\n"
        "    F.cross_entropy(net(torch.ones(2, 2)), torch.tensor(labels))\n",
        "nn.Linear(2, len(names) + 2) in line 6 passes",
        "torch.tensor(labels) holds 2 at 1",
    ),
    "a table of places that is too short to train on": (
        HEAD
        + "table = nn.Embedding(4, 2)\nfor count in (3, 5, 6):\n    table(torch.arange(count)).sum().backward()\n",
        "nn.Embedding(6, 2) in line 5 passes",
        "torch.arange(count) holds 4 at 4",
    ),
    "a loss from a teacher that is frozen on purpose": (
        HEAD + "teacher, student, x = nn.Linear(2, 1), nn.Linear(2, 1), torch.ones(4, 2)\n"
        "teacher.requires_grad_(False)\nsteps = torch.optim.SGD(student.parameters(), lr=0.1)\n"
        "loss = (teacher(x) - teacher(x).mean()).square().sum()\nloss.backward()\nsteps.step()\n",
        "compute the loss from what the optimizer trains, not from these parameters",
        "none of the 2 parameters of teacher (Linear) asks for gradients",
    ),
    "a head that is frozen with all else": (
        NET + "        self.body, self.head = nn.Linear(2, 3), nn.Linear(3, 4)\n"
        "    def forward(self, x):\n        return self.head(self.body(x))\n"
        "def freeze(module):\n    for one in module.parameters():\n        one.requires_grad = False\n"
        "def build():\n    net = Net()\n    freeze(net)\n    return net\n"
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n"
        "    def loss(self, x):\n        return self.net(x).sum()\n"
        "trainer = Trainer(build())\nfor _ in range(2):\n    loss = trainer.loss(torch.ones(5, 2))\n    loss.backward()\n",
        "net.head.requires_grad_(True) after line 16 passes",
        "none of the 4 parameters of trainer.net (Net) asks for gradients",
    ),
    "a layer that a loop freezes": (
        HEAD + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))\nfor layer in net:\n"
        "    for one in layer.parameters():\n        one.requires_grad_(False)\n"
        "loss = net(torch.ones(5, 2)).sum()\nloss.backward()\n",
        "net[1].requires_grad_(True) after line 8 passes",
        "parameters are taken out of training here: one.requires_grad_(False)",
    ),
    "a loss of nothing that asks for gradients": (
        HEAD + "w = torch.ones(3)\nloss = (w * 2).sum()\nloss.backward()\n",
        "requires_grad=True for what is to be trained, where it is made",
        "",
    ),
    "a data set that is shorter than it says": (
        DATA + "    def __init__(self, ahead):\n        self.ahead, self.rows = ahead, torch.ones(12)\n"
        "    def __len__(self):\n        return len(self.rows)\n"
        "    def __getitem__(self, i):\n        return self.rows[i], self.rows[i + self.ahead]\n"
        "for batch in DataLoader(Rows(3), 4):\n    pass\n",
        "len(self.rows) - self.ahead in line 12 passes",
        "__len__ of Rows says 12, and sample 9 is past the end, as all of the last 3 are",
    ),
    "a loader whose last batch is one sample": (
        HEAD + "from torch.utils.data import DataLoader\nnet = nn.BatchNorm1d(2)\n"
        "loader = DataLoader(torch.randn(9, 2), batch_size=4)\nfor x in loader:\n    net(x)\n",
        "drop_last=True in line 7 passes",
        "the last batch of loader has 1 samples of 4 (9 = 2 · 4 + 1)",
    ),
    "an iterator that was made once": (
        HEAD + "extra = iter([1, 2])\nfor _ in range(3):\n    x = next(extra)\n",
        "`extra = iter([1, 2])` anew, in an except StopIteration around it",
        "extra is used up",
    ),
    "an operand that a function of the program gives": (
        HEAD + "def show(value):\n    print(value)\n    return torch.ones(2)\nshow(3) + torch.ones(3)\n",
        "",
        "`+` fails on torch.ones(3) (3,) float32 and show(3) (2,) float32",
    ),
    "indices that begin at 1 in two names": (
        HEAD + "edges = torch.tensor([[1, 2, 3], [3, 1, 2]])\nsrc, to = edges\nrows = torch.ones(3, 2)\n"
        "out = torch.zeros(3, 2).index_add(0, to, rows[src])\n",
        "they begin at 1: torch.tensor([[1, 2, 3], [3, 1, 2]]) - 1 in line 5 passes",
        "src reaches 3 here first: torch.tensor([[1, 2, 3], [3, 1, 2]])",
    ),
    "labels that a data set counts from 1, and a metric reads": (
        DATA + "    def __len__(self):\n        return 6\n    def __getitem__(self, i):\n"
        "        return torch.ones(2), i % 3 + 1\nnet = nn.Linear(2, 3)\n"
        "for x, y in DataLoader(Rows(), 3):\n    F.cross_entropy(net(x), y)\n    print(net(x).argmax(1) == y)\n",
        "they begin at 1: i % 3 + 1 - 1 in line 10 passes",
        "y holds 3 at 2",
    ),
    "samples that a chunk takes apart": (
        HEAD
        + "code, back = nn.Linear(4, 6), nn.Linear(3, 4)\nmean, spread = code(torch.ones(8, 4)).chunk(2)\n"
        "F.mse_loss(back(mean + spread), torch.ones(8, 4)).backward()\n",
        "code(torch.ones(8, 4)).chunk(2, dim=1) in line 6 passes",
        "`code(torch.ones(8, 4)).chunk(2)` makes (4, 6) of (8, 6)",
    ),
    "a copy that is written in place where it is made": (
        HEAD + "kept = {key: one.clone() for key, one in nn.BatchNorm1d(2).state_dict().items()}\n"
        "for one in kept.values():\n    one.mul_(0.9)\nprint(kept)\n",
        "one.clone().float() in line 5 passes",
        "mul_ fails on one () int64",
    ),
    "a mask made once for the longest sequence": (
        HEAD
        + "attend = nn.MultiheadAttention(4, 2, batch_first=True)\nmask = torch.ones(9, 9).triu(1).bool()\n"
        "for count in (5, 7):\n    x = torch.ones(2, count, 4)\n    attend(x, x, x, attn_mask=mask)\n",
        "mask[:x.shape[1], :x.shape[1]] passes",
        "mask (9, 9) bool",
    ),
    "the operands of a product the other way round": (
        HEAD
        + "w, x = torch.arange(45.0).view(5, 9), torch.ones(126).view(2, 9, 7)\nprint(torch.matmul(x, w))\n",
        "torch.matmul(w, x) passes, and the call gives (2, 5, 7)",
        "torch.matmul fails on x (2, 9, 7) float32",
    ),
    "what another function writes while a gradient waits for it": (
        HEAD + "bank, net = torch.ones(4, 3), nn.Linear(2, 3)\ndef push(rows):\n    with torch.no_grad():\n"
        "        bank[:2] = rows\nscores = net(torch.ones(2, 2)) @ bank.T\npush(torch.zeros(2, 3))\n"
        "scores.sum().backward()\n",
        "bank.T.clone() in line 9 passes",
        "`bank[:2] = rows` writes a tensor (3, 4) that `net(torch.ones(2, 2)) @ bank.T` kept",
    ),
    "a part of the graph that each backward of a step walks": (
        HEAD + "net, x = nn.Linear(2, 1), torch.ones(4, 2)\nsteps = torch.optim.SGD(net.parameters(), 0.1)\n"
        "def extent():\n    return net(x).exp().mean()\nshared = extent()\n"
        "for _ in range(2):\n    (net(x).mean() + shared).backward()\nsteps.step()\n",
        "(net(x).mean() + shared).backward(retain_graph=True) in line 11 passes",
        "shared was made before the last backward call",
    ),
    "sounds of several lengths, in a worker": (
        DATA + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n"
        "        return torch.ones(1, i + 3), i\nif __name__ == '__main__':\n"
        "    for x, y in DataLoader(Rows(), 2, num_workers=1):\n        x.mean((1, 2)) * y\n",
        "(torch.stack([F.pad(one[0], (0, max(one[0].shape[-1] for one in batch) - one[0].shape[-1])) for one in batch]",
        "torch.ones(1, i + 3) of sample 1 is a tensor (1, 4) of float32",
    ),
    "more names than a function has saved tensors": (
        HEAD
        + "class Clip(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, low, high):\n"
        "        ctx.save_for_backward(x)\n        ctx.bounds = low, high\n        return x.clamp(low, high)\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        x, low, high = ctx.saved_tensors\n"
        "        return grad * (x > low), None, None\n"
        "Clip.apply(torch.ones(3, requires_grad=True), 0, 1).sum().backward()\n",
        "x, = ctx.saved_tensors; low, high = ctx.bounds",
        "backward of Clip unpacks 3 tensors, and its forward saves 1: x",
    ),
    "labels of all classes beside the scores of some": (
        HEAD + "x, chosen, net = torch.randn(6, 2), torch.randperm(20)[:3] + 3, nn.Linear(2, 4)\n"
        "scores = -torch.cdist(net(x), net(torch.randn(3, 2)))\n"
        "F.cross_entropy(scores, chosen.repeat_interleave(2)).backward()\n",
        "",
        "chosen.repeat_interleave(2) reaches",
    ),
    "what an earlier step of another function was given": (
        HEAD + "g, d, sgd = nn.Linear(2, 2), nn.Linear(2, 1), torch.optim.SGD\n"
        "of_d, of_g = (sgd(one.parameters(), 0.1) for one in (d, g))\n"
        "def judge(fake):\n    loss = d(fake).mean()\n    loss.backward()\n    of_d.step()\n"
        "def make(fake):\n    loss = -d(fake).mean()\n    loss.backward()\n    of_g.step()\n"
        "for _ in range(2):\n    fake = g(torch.ones(3, 2))\n    judge(fake)\n    make(fake)\n",
        "fake.detach() in line 8 passes",
        "fake was made before the last backward call",
    ),
    "a list that keeps what earlier steps were made of": (
        HEAD + "net, kept = nn.Linear(2, 1), []\nsteps = torch.optim.SGD(net.parameters(), 0.1)\n"
        "def act():\n    kept.append(net(torch.ones(2)).sum())\n"
        "def update():\n    loss = 0.0\n    for one in kept:\n        loss = loss - one\n"
        "    steps.zero_grad()\n    loss.backward()\n    steps.step()\n"
        "for _ in range(3):\n    act()\n    update()\n",
        "kept.clear() after `loss.backward()` in line 14 passes",
        "kept was made before the last backward call",
    ),
    "a tensor of an object that steps are written into": (
        HEAD + "class Rollout:\n    def __init__(self):\n        self.values = torch.zeros(2)\n"
        "    def store(self, t, value):\n        self.values[t] = value\n"
        "net, rollout = nn.Linear(2, 1), Rollout()\nsteps = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for _ in range(3):\n    for t in range(2):\n        rollout.store(t, net(torch.ones(2)).exp().sum())\n"
        "    loss = rollout.values.pow(2).sum()\n    steps.zero_grad()\n    loss.backward()\n    steps.step()\n",
        "rollout.values = rollout.values.detach() after line 17 passes",
        "a part of this graph was made before the last backward call",
    ),
    "a list of an object that empties another one of its lists": (
        HEAD + "class Memory:\n    def __init__(self):\n        self.scores, self.gains = [], []\n"
        "    def add(self, score):\n        self.scores.append(score)\n        self.gains.append(1.0)\n"
        "    def clear(self):\n        self.gains = []\n"
        "net, memory = nn.Linear(2, 1), Memory()\nsteps = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for _ in range(3):\n    memory.add(net(torch.ones(2)).exp().sum())\n    loss = sum(memory.scores)\n"
        "    steps.zero_grad()\n    loss.backward()\n    steps.step()\n    memory.clear()\n",
        "self.scores.clear() after line 12 passes",
        "memory.scores keeps it from here: self.scores.append(score)",
    ),
    "a gradient with respect to what asks for none": (
        HEAD + "net, x = nn.Linear(2, 1), torch.ones(3, 2)\nmixed = x * 0.5\nscore = net(mixed)\n"
        "torch.autograd.grad(score.sum(), mixed, create_graph=True)[0].norm().backward()\n",
        "mixed.requires_grad_() before line 7 passes",
        "a gradient is asked for mixed (3, 2)",
    ),
    "a decoder whose layers take the steps first": (
        HEAD + "layer = nn.TransformerDecoderLayer(8, 2, 8)\ndecoder = nn.TransformerDecoder(layer, 1)\n"
        "x, memory = torch.ones(4, 5, 8), torch.ones(4, 6, 8)\n"
        "mask = nn.Transformer.generate_square_subsequent_mask(5)\ndecoder(x, memory, tgt_mask=mask).sum().backward()\n",
        "nn.TransformerDecoderLayer(8, 2, 8, batch_first=True) in line 5 passes",
        "x is read as 5 samples of 4 steps",
    ),
    "a view of what three layers are given": (
        NET + "        self.blocks = nn.Sequential(Block(4, 6), Block(6, 6))\n    def forward(self, x):\n"
        "        return self.blocks(x)\nclass Block(nn.Module):\n    def __init__(self, i, o):\n"
        "        super().__init__()\n        self.conv = nn.Conv1d(i, o, 3, padding=1)\n    def forward(self, x):\n"
        "        return self.conv(x).relu()\nfor count in (2, 3):\n"
        "    x = torch.ones(count, 9, 4) if count < 3 else torch.zeros(3, 9, 4)\n    Net()(x).sum().backward()\n",
        "x.transpose(1, 2) in line 10 passes",
        "blocks.0.conv",
    ),
    "a size that a division gave": (
        HEAD + "width, ratio = 16, 4\ninner = width / ratio\nnn.Linear(width, inner)\n",
        "int(inner) in line 7 passes, or // where it is a quotient, if a whole number is wanted",
        "inner is 4.0",
    ),
    "a function that lacks a return": (
        HEAD + "def erased(x):\n    x = x * 2\ndef bright(x):\n    return x + 1\nx = torch.ones(2)\n"
        "for step in (erased, bright):\n    x = step(x)\n",
        "return … on every way through erased, line 5, which gave None",
        "x is None",
    ),
    "a list that a constructor changes for its caller": (
        NET.replace("(self)", "(self, sizes)") + "        dims = sizes\n        dims.insert(0, 3)\n"
        "        self.fc = nn.Linear(dims[0], dims[1])\nsizes = [5]\nsaved = Net(sizes).state_dict()\n"
        "Net(sizes).load_state_dict(saved)\n",
        "list(sizes) in line 8 passes",
        "`dims.insert(0, 3)` changes the list of the caller",
    ),
    "advantages that train what they are made of": (
        HEAD + "critic, policy = nn.Linear(2, 1), nn.Linear(2, 1)\nx = torch.ones(4, 2)\nvalues = critic(x)\n"
        "adv = values - values.mean()\nsteps = torch.optim.SGD(policy.parameters(), 0.1)\n"
        "first = (policy(x) * adv).mean()\nsecond = values.pow(2).mean()\n"
        "first.backward()\nsteps.step()\nsecond.backward()\n",
        "adv.detach() in line 10 passes",
        "",
    ),
    "gradients that a caller switches off": (
        NET + "        self.fc = nn.Linear(3, 2)\n    def score(self, x):\n        return self.fc(x)\n"
        "    @torch.no_grad()\n    def act(self, x):\n        return 2 * self.score(x)\n"
        "Net().act(torch.ones(4, 3)).sum().backward()\n",
        "Net.act without no_grad",
        "gradients are disabled in Net.act where `self.score(x)` stands",
    ),
    "a repair after which a loss would go on with what it broadcasts": (
        HEAD + "from collections import namedtuple\nSample = namedtuple('Sample', 'action reward')\n"
        "q, batch = nn.Linear(3, 2), Sample(torch.zeros(5).long(), torch.ones(5))\n"
        "best = q(torch.ones(5, 3)).gather(1, batch.action)\nF.mse_loss(best, batch.reward).backward()\n",
        "batch.action.unsqueeze(1) in line 8 and best.squeeze(-1) in line 9 pass",
        "",
    ),
    "a script that loads in workers, and keeps what it has": (
        HEAD + "import os\nfrom torch.utils.data import DataLoader\nos.makedirs('kept', exist_ok=True)\n"
        "net = nn.Linear(3, 1)\ntorch.save(net.state_dict(), 'kept/first.pt')\n"
        "if __name__ == '__main__':\n    for x in DataLoader(torch.ones(6, 3), 3, num_workers=2):\n"
        "        target = (x[:, 0] > 0).long()\n        F.mse_loss(net(x)[:, 0].sigmoid(), target).backward()\n"
        "        F.binary_cross_entropy(net(x)[:, 0].sigmoid(), target)\n",
        "target.float() passes",
        "target is int64 from here on: (x[:, 0] > 0).long()",
    ),
    "a table with a row for padding": (
        HEAD + "words = [[0, 1, 4], [2, 3, 5]]\ncount = len(words) + 2\n"
        "table = nn.Embedding(count, 2, padding_idx=0)\nids = torch.tensor(words)\ntable(ids).sum().backward()\n",
        "len(words) + 4 in line 6 passes",
        "ids reaches 5 here first",
    ),
    "a table with a row for each identifier that is there, and some are left out": (
        HEAD + "rows = torch.tensor([[7, 1], [2, 9], [2, 7]])\n"
        "count = len(torch.unique(rows))\ntable = nn.Embedding(count, 2)\n"
        "for row in rows:\n    table(row).sum().backward()\n",
        "int(rows.max()) + 1 in line 6 passes",
        "num_embeddings, 4, comes from here",
    ),
    "classes that are counted from 3": (
        HEAD + "kinds = [3, 5, 4, 3]\ndef label(i):\n    return torch.tensor(kinds[i])\n"
        "net = nn.Linear(2, 3)\nfor _ in range(2):\n    y = torch.stack([label(i) for i in range(4)])\n"
        "    F.cross_entropy(net(torch.ones(4, 2)), y).backward()\n",
        "they begin at 3: torch.stack([label(i) for i in range(4)]) - 3 in line 10 passes",
        "y reaches 5 here first",
    ),
    "a number of another value than what was made of one": (
        HEAD + "net, x = nn.Linear(2, 1), torch.ones(3, 2)\n"
        "def step():\n    loss = net(x).mean()\n    loss.backward()\n    return loss.item()\n"
        "@torch.no_grad()\ndef judged(y):\n    loss = (net(x) - y).mean()\n"
        "    return torch.autograd.grad(loss, net.weight)\n"
        "step()\ny = torch.randn(3, 1)\njudged(y)\n",
        "judged without no_grad in line 10, where its result is trained on",
        "gradients are disabled where `net(x)` stands",
    ),
    "the outputs and the state of a layer, for the outputs": (
        NET + "        self.rnn = nn.GRU(3, 4)\n    def forward(self, x):\n        out = self.rnn(x)\n"
        "        return out[:, -1]\nNet()(torch.ones(5, 2, 3)).sum().backward()\n",
        "out[0][:, -1] in line 11 passes",
        "out is a tuple of 2",
    ),
    "letters of a sum that stand for two sizes": (
        HEAD + "weights, v = torch.ones(2, 5, 3), torch.ones(2, 3, 4)\n"
        "torch.einsum('bij,bid->bid', weights, v)\n",
        "torch.einsum('bij,bjd->bid', …) passes, and the call gives (2, 5, 4)",
        "i is 5 in weights and 3 in v",
    ),
    "all that an earlier pass made, and that the steps read": (
        HEAD + "net, x = nn.Linear(2, 1), torch.ones(4, 2)\nsteps = torch.optim.SGD(net.parameters(), 0.1)\n"
        "old, gain = net(x), net(x).tanh()\nfor _ in range(3):\n    ratio = (net(x) - old).exp()\n"
        "    term = ratio * gain\n    loss = term.mean()\n    steps.zero_grad()\n    loss.backward()\n    steps.step()\n",
        "old.detach() and gain.detach() in lines 9 and 10 pass",
        "",
    ),
    "samples of which a part is to stay a list": (
        DATA + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n"
        "        return torch.ones(3), {'boxes': torch.ones(i + 1, 4)}\nfor images, targets in DataLoader(Rows(), 2):\n"
        "    images.sum() * sum(one['boxes'].sum() for one in targets)\n",
        "(torch.utils.data.default_collate([one[0] for one in batch]), [one[1] for one in batch]) in line 11 passes",
        "'boxes' of sample 1",
    ),
    "samples whose parts are padded, under their keys": (
        DATA + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n"
        "        return {'ids': torch.ones(i + 1), 'label': i, 'name': 'row'}\nfor batch in DataLoader(Rows(), 2):\n"
        "    batch['ids'].sum(1) * batch['label']\n",
        "{'ids': nn.utils.rnn.pad_sequence([one['ids'] for one in batch], batch_first=True), 'label': ",
        "'ids' of sample 1",
    ),
    "a function that keeps what stands around it": (
        HEAD
        + "import pickle\ndef made(shift):\n    def moved(x):\n        return x + shift\n    return moved\n"
        "move = made(2)\npickle.dumps(move)\n",
        "functools.partial of a function at the top level of the file, which is given shift",
        "move is the inner function made.<locals>.moved, and cannot be pickled",
    ),
}


@pytest.mark.parametrize(("source", "advice", "says"), CASES.values(), ids=CASES)
def test_tells_what_another_run_shows(
    source: str, advice: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(source)
    found, error = explained(path)
    assert found is not None, error
    assert advice in (found.advice or ("",))[0]
    told = [found.summary, *found.because, *(f"{what}: {at.expression}" for what, at in found.other)]
    assert any(says in one for one in told), told


def test_a_loop_that_gives_a_number_is_not_told_as_where_it_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        DATA + "    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n"
        "        return torch.ones(2), KINDS[i % 2]\nKINDS = {0: 1, 1: 2}\nnet = nn.Linear(2, 2)\n"
        "def run(loader):\n    for x, y in loader:\n        F.cross_entropy(net(x), y)\n"
        "run(DataLoader(Rows(), 4))\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert found.operands[1].source is not None
    assert found.other == ()


def test_a_script_that_asks_for_what_is_no_computing_is_told_without_another_run(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + f"open({str(tmp_path / 'kept.txt')!r}, 'a').write('once')\nx = torch.ones(2, 3)\nx @ torch.ones(2, 3)\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.advice[0].startswith("torch.ones(2, 3).T passes")
    assert (tmp_path / "kept.txt").read_text() == "once"


def test_a_script_that_compiles_is_run_once_more_as_it_is_written(tmp_path: Path, servers: Servers) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + f"def compiler(graph, given):\n    open({str(tmp_path / 'kernel')!r}, 'w').write('x')\n    return graph\n"
        + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.head = nn.Linear(6, 3)\n    def forward(self, x):\n        return self.head(x.flatten(1))\n"
        "net = torch.compile(Net(), backend=compiler)\nlabels = torch.zeros(4, 1).long()\n"
        "F.cross_entropy(net(torch.ones(4, 2, 3)), labels)\n"
    )
    assert explained_apart(path, servers)["advice"] == ["labels.squeeze(-1) passes"]


def test_layers_of_a_compiled_model_have_the_names_that_the_model_gives_them(
    tmp_path: Path, servers: Servers
) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + "net = torch.compile(nn.Sequential(nn.Linear(6, 5), nn.Linear(4, 2)), backend='eager')\n"
        + "net(torch.ones(3, 6))\n"
    )
    assert [row[0] for row in explained_apart(path, servers)["layers"]] == ["0", "1"]


def test_a_setting_in_a_file_that_is_imported_is_told_as_the_data_has_it(
    tmp_path: Path, servers: Servers
) -> None:
    (tmp_path / "options.py").write_text("options = {'size': 8, 'batch': 2}\n")
    path = tmp_path / "train.py"
    path.write_text(
        NET.replace(HEAD, HEAD + "from options import options\n")
        + "        flat = (options['size'] // 2) ** 2\n"
        "        self.a, self.b, self.c = nn.Linear(flat, 2), nn.Linear(flat, 2), nn.Linear(2, flat)\n"
        "    def forward(self, x):\n        h = F.max_pool2d(x, 2).flatten(1)\n"
        "        return h + self.c(self.a(h) + self.b(h))\n"
        "Net()(torch.ones(options['batch'], 1, 6, 6)).sum().backward()\n"
    )
    assert explained_apart(path, servers)["advice"][0] == "size = 6 in line 1 of options.py passes"


def test_a_number_that_is_written_into_a_tensor_is_told_where_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "ids = torch.zeros(3, dtype=torch.long)\nids[1] = 9\ntable = nn.Embedding(4, 2)\ntable(ids)\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.summary.startswith("ids holds 9 at 1")
    assert [at.expression for what, at in found.other if "reaches 9" in what] == ["ids[1] = 9"]
