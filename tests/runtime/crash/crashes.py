"""Programs that end by an exception of torch, and what must be said of it."""

from dataclasses import dataclass

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.manual_seed(0)\n"

NETWORK = (
    HEAD
    + """
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(200, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, images):
        features = F.relu(self.norm(self.conv(images)))
        flat = features.flatten(1)
        return self.fc2(F.relu(self.fc1(flat)))

model = Network()
"""
)

TRAIN = (
    HEAD
    + """
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(8, 6)
"""
)

LOADER = (
    HEAD
    + """
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        ITEM

for batch in DataLoader(Samples(), batch_size=4, num_workers=WORKERS):
    pass
"""
)


@dataclass(frozen=True)
class Crash:
    name: str
    source: str
    kind: str
    says: tuple[str, ...]  # in summary, reasons, operands or other places
    advice: str


CRASHES = (
    Crash(
        "linear behind a convolution",
        NETWORK + "images = torch.randn(5, 3, 8, 8)\nmodel(images)\n",
        "shape",
        (
            "fc1",
            "in_features=200",
            "flat",
            "288",
            "weight of fc1",
            "flat = features.flatten(1)",
            "self.fc1 = nn.Linear(200, 32)",
        ),
        "nn.Linear(288, 32) in line 11 passes",
    ),
    Crash(
        "flatten forgotten",
        HEAD + "layer = nn.Linear(48, 4)\nx = torch.randn(5, 3, 4, 4)\nlayer(x)\n",
        "shape",
        ("layer", "in_features=48", "x (5, 3, 4, 4)"),
        "x.flatten(1)",
    ),
    Crash(
        "matrices",
        HEAD + "a = torch.randn(3, 4)\nb = torch.randn(5, 4)\nc = a @ b\n",
        "shape",
        ("a (3, 4)", "b (5, 4)"),
        "b.T passes",
    ),
    Crash(
        "batches of matrices",
        HEAD + "q = torch.randn(2, 3, 4)\nk = torch.randn(2, 5, 4)\ns = torch.bmm(q, k)\n",
        "shape",
        ("q (2, 3, 4)", "k (2, 5, 4)"),
        "k.transpose(1, 2) passes",
    ),
    Crash(
        "broadcast",
        HEAD + "x = torch.randn(4, 6)\nscale = x.mean(1)\ny = x * scale\n",
        "shape",
        ("x (4, 6)", "scale (4,)", "scale = x.mean(1)"),
        "scale.unsqueeze(1)",
    ),
    Crash(
        "concatenation",
        HEAD + "a = torch.randn(4, 6)\nb = torch.randn(4, 2)\nc = torch.cat([a, b])\n",
        "shape",
        ("b (4, 2)", "a (4, 6)"),
        "dim=1 passes",
    ),
    Crash(
        "view",
        HEAD + "x = torch.randn(5, 3, 4)\ny = x.view(-1, 16)\n",
        "shape",
        ("x (5, 3, 4)", "60 elements", "16"),
        "x.flatten(1)",
    ),
    Crash(
        "view of a transpose",
        HEAD + "x = torch.randn(5, 3).transpose(0, 1)\ny = x.view(15)\n",
        "shape",
        ("x (3, 5)",),
        "x.contiguous() passes",
    ),
    Crash(
        "channels last",
        NETWORK + "images = torch.randn(5, 10, 10, 3)\nmodel(images)\n",
        "shape",
        ("conv", "Conv2d(3, 8", "images"),
        "permute(0, 3, 1, 2)",
    ),
    Crash(
        "no channel",
        HEAD + "conv = nn.Conv2d(1, 4, 3)\nx = torch.randn(5, 2, 8, 8, 1)\nconv(x)\n",
        "shape",
        ("conv",),
        "",
    ),
    Crash(
        "batch norm",
        HEAD + "norm = nn.BatchNorm1d(8)\nx = torch.randn(4, 6)\nnorm(x)\n",
        "call",
        ("norm", "x (4, 6)"),
        "nn.BatchNorm1d(6) in line 5",
    ),
    Crash(
        "layer norm",
        HEAD + "norm = nn.LayerNorm(8)\nx = torch.randn(4, 6)\nnorm(x)\n",
        "shape",
        ("[8]|(8,)", "(4, 6)"),
        "nn.LayerNorm(6) in line 5",
    ),
    Crash(
        "recurrent layer",
        HEAD + "rnn = nn.LSTM(8, 4)\nx = torch.randn(4, 2, 6)\nrnn(x)\n",
        "shape",
        ("rnn", "x (4, 2, 6)"),
        "input_size=6",
    ),
    Crash(
        "float64 from NumPy",
        TRAIN + "import numpy as np\nx = torch.from_numpy(np.ones((4, 6)))\nmodel(x)\n",
        "dtype",
        ("x is float64", "weight"),
        "torch.from_numpy(np.ones((4, 6))).float() in line 10 passes",
    ),
    Crash(
        "float labels",
        TRAIN
        + "labels = torch.tensor([0.0, 1.0] * 4)\nscores = model(inputs)\nF.cross_entropy(scores, labels)\n",
        "dtype",
        ("labels (8,) is float32", "scores"),
        "labels.long()",
    ),
    Crash(
        "indices as floats",
        HEAD + "table = nn.Embedding(9, 2)\nwords = torch.tensor([1.0, 2.0])\ntable(words)\n",
        "dtype",
        ("words is float32",),
        "words.long()",
    ),
    Crash(
        "another device",
        HEAD + "layer = nn.Linear(4, 2, device='meta')\nx = torch.randn(3, 4)\nlayer(x)\n",
        "device",
        ("x is on cpu", "weight of layer"),
        "x = x.to('cuda:0')",
    ),
    Crash(
        "label out of range",
        TRAIN
        + "labels = torch.tensor([1, 2, 3, 1, 2, 3, 1, 2])\nloss = nn.CrossEntropyLoss()(model(inputs), labels)\n",
        "target",
        ("labels holds 3 at 2, 3 at 5", "3 classes"),
        "they begin at 1: torch.tensor([1, 2, 3, 1, 2, 3, 1, 2]) - 1 in line 9 passes",
    ),
    Crash(
        "negative label",
        TRAIN
        + "labels = torch.tensor([1, 2, 0, -1, 2, 0, 1, 2])\nscores = model(inputs)\nF.cross_entropy(scores, labels)\n",
        "target",
        ("-1 at 3", "scores"),
        "ignore_index",
    ),
    Crash(
        "word out of range",
        HEAD + "table = nn.Embedding(9, 2)\nwords = torch.tensor([[1, 2], [12, 3]])\ntable(words)\n",
        "index",
        ("words holds 12 at (1, 0)", "9 rows"),
        "nn.Embedding(13, 2) in line 5 passes",
    ),
    Crash(
        "labels in a column",
        TRAIN
        + "labels = torch.zeros(8, 1).long()\nscores = model(inputs)\nF.cross_entropy(scores, labels)\n",
        "target",
        ("labels (8, 1) has a dimension too many", "(8, 3)"),
        "labels.squeeze(-1)",
    ),
    Crash(
        "scores in binary_cross_entropy",
        HEAD + "p = torch.tensor([0.2, 1.7])\ny = torch.ones(2)\nF.binary_cross_entropy(p, y)\n",
        "target",
        ("p holds 1.7 at 1",),
        "with_logits",
    ),
    Crash(
        "binary shapes",
        HEAD + "p = torch.randn(4, 1)\ny = torch.ones(4)\nF.binary_cross_entropy_with_logits(p, y)\n",
        "shape",
        ("p (4, 1)", "y (4,)"),
        "p.squeeze(-1)",
    ),
    Crash(
        "batches of different size",
        TRAIN + "labels = torch.zeros(6).long()\nscores = model(inputs)\nF.cross_entropy(scores, labels)\n",
        "target",
        ("scores (8, 3)", "labels (6,)", "first dimension of both"),
        "",
    ),
    Crash(
        "a hidden state is carried on",
        HEAD
        + """
cell = nn.GRUCell(4, 6)
hidden = torch.zeros(2, 6)
for step in range(3):
    hidden = cell(torch.randn(2, 4), hidden)
    loss = hidden.sum()
    loss.backward()
""",
        "second-backward",
        ("hidden is carried", "loss.backward()", "hidden = cell("),
        "hidden.detach()",
    ),
    Crash(
        "the same loss twice",
        TRAIN + "loss = model(inputs).sum()\nloss.backward()\nloss.backward()\n",
        "second-backward",
        ("this loss went backward before", "loss.backward()"),
        "retain_graph",
    ),
    Crash(
        "a fake that was not detached",
        HEAD
        + """
generator, judge = nn.Linear(2, 3), nn.Linear(3, 1)
fake = generator(torch.randn(4, 2)).tanh()
judge(fake).mean().backward()
judge(fake).sum().backward()
""",
        "second-backward",
        ("fake was made before", "generator("),
        "fake.detach()",
    ),
    Crash(
        "written after exp",
        HEAD
        + """
x = torch.randn(4, requires_grad=True)
y = torch.exp(x)
y += 1
y.sum().backward()
""",
        "in-place",
        ("y += 1", "exp kept for its gradient", "it is kept here", "torch.exp(x)"),
        "y = y + 1",
    ),
    Crash(
        "written after its own norm, an operation that torch calls otherwise",
        HEAD
        + """
h = torch.randn(4, 3, requires_grad=True) * 2
h /= h.norm(dim=1, keepdim=True)
h.sum().backward()
""",
        "in-place",
        ("that `h.norm(dim=1, keepdim=True)` kept for its gradient",),
        "h = h / h.norm(dim=1, keepdim=True)",
    ),
    Crash(
        "an index written after sigmoid",
        TRAIN
        + """
out = torch.sigmoid(model(inputs))
out[:, 0] = 0
out.sum().backward()
""",
        "in-place",
        ("out[:, 0] = 0", "sigmoid"),
        "clone()",
    ),
    Crash(
        "a part of what a layer kept written by another name",
        TRAIN
        + """
state = torch.randn(8, 12)
def coupled(state):
    first, second = state[:, :6], state[:, 6:]
    scale = model[0](first).mean()
    state[:, 6:] = second + scale
    return state
coupled(state.clone()).sum().backward()
""",
        "in-place",
        (
            "first and state share their memory",
            "`state[:, 6:] = second + scale` writes",
            "model[0](first)",
        ),
        "state = state.clone() before it",
    ),
    Crash(
        "a gradient too few of a function",
        TRAIN
        + """
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        return torch.round(x / scale) * scale
    @staticmethod
    def backward(ctx, grad):
        return grad, None
Rounded.apply(model(inputs), 0.5, 4).sum().backward()
""",
        "backward",
        (
            "Rounded.backward returns 2 for the 3 arguments of its forward: x, scale, bits",
            "(grad, None)",
        ),
        "return grad, None, None",
    ),
    Crash(
        "gradients too few of a function whose tensors all ask for one",
        TRAIN
        + """
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[1]
Scaled.apply(model(inputs), torch.ones(3, requires_grad=True)).sum().backward()
""",
        "backward",
        ("Scaled.backward returns 1 for the 2 arguments of its forward: x, scale",),
        "None stands for an argument without a gradient",
    ),
    Crash(
        "an index of int32 for a scatter",
        HEAD
        + """
messages = nn.Linear(4, 32)(torch.randn(2000, 4))
nodes = torch.zeros(2000, dtype=torch.int32)
index = nodes.unsqueeze(1).expand(-1, 32)
torch.zeros(3, 32).scatter_add(0, index, messages).sum().backward()
""",
        "dtype",
        (
            "index is int32, and scatter_add takes int64 there",
            "torch.zeros(2000, dtype=torch.int32)",
        ),
        "index.long() passes",
    ),
    Crash(
        "an index of float64 that picks many rows of few",
        HEAD
        + """
import numpy as np
pairs = np.zeros((2, 90))
source, target = torch.from_numpy(pairs.copy())
nn.Linear(4, 16)(torch.randn(6, 4))[source].sum().backward()
torch.zeros(6).scatter_add(0, target, torch.ones(90))
""",
        "call",
        ("an index must be an integer, and source is float64",),
        "torch.from_numpy(pairs.copy()).long() in line 8 passes",
    ),
    Crash(
        "an index of int32 that is spread where it is handed over",
        HEAD
        + """
messages = nn.Linear(4, 32)(torch.randn(2000, 4))
nodes = torch.zeros(2000, dtype=torch.int32)
torch.zeros(3, 32).scatter_add_(0, nodes.unsqueeze(1).expand_as(messages), messages).sum().backward()
""",
        "dtype",
        ("nodes.unsqueeze(1).expand_as(messages) is int32, and scatter_add_ takes int64 there",),
        "torch.zeros(2000, dtype=torch.int32).long() in line 7 passes",
    ),
    Crash(
        "what is known of a whole sample joined to each place of it",
        HEAD
        + """
mix = nn.Conv1d(12, 2, 1)
places = torch.randn(4, 8, 30)
whole = places.amax(2)[:, :4]
mix(torch.cat([places, whole], dim=1)).sum().backward()
""",
        "shape",
        ("torch.cat fails on places (4, 8, 30) float32 and whole (4, 4) float32",),
        "whole[:, :, None].expand(-1, -1, places.shape[2]) passes, and the call gives (4, 12, 30)",
    ),
    Crash(
        "a mask of what a cat has made longer",
        HEAD
        + """
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
tokens = torch.randn(4, 6, 8)
padding = tokens[:, :, 0] > 1
whole = torch.cat([torch.zeros(1, 1, 8).expand(4, -1, -1), tokens], dim=1)
encoder(whole * 2, src_key_padding_mask=padding)
""",
        "shape",
        ("(4, 7, 8) of (4, 1, 8) and (4, 6, 8), and padding stays as it was", "torch.cat("),
        "F.pad(padding, (1, 0)) passes",
    ),
    Crash(
        "an index of which the data hold a larger one",
        HEAD
        + """
class Words(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.embed = nn.Embedding(count, 2)
    def forward(self, ids):
        return self.embed(ids)
class Run:
    def __init__(self, model):
        self.model = model
    def on(self, samples):
        return [self.model(torch.stack(samples[place : place + 2])) for place in (0, 2)]
sizes = [4]
samples = [torch.tensor(one) for one in ([1, 3], [4, 0], [2, 6], [5, 0])]
Run(Words(len(sizes) + 3)).on(samples)
""",
        "index",
        ("ids reaches 4 here first, another 6 torch.tensor(one)", "Words(len(sizes) + 3)"),
        "Words(len(sizes) + 6)",
    ),
    Crash(
        "a step between forward and backward",
        TRAIN
        + """
output = model(inputs)
first, second = output.sum(), (output ** 2).sum()
first.backward(retain_graph=True)
optimizer.step()
second.backward()
""",
        "in-place",
        ("`optimizer.step()` came between", "optimizer.step()"),
        "compute what `model(inputs)` in line 10 gives, and the loss of it, anew after that step",
    ),
    Crash(
        "a step between a forward of a class and backward",
        HEAD
        + """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    def forward(self, x):
        return self.net(x)
def train(critic, fake, optimizer):
    score = critic(fake)
    score.mean().backward(retain_graph=True)
    optimizer.step()
    (-score).mean().backward()
critic = Critic()
train(critic, nn.Linear(2, 2)(torch.ones(4, 2)), torch.optim.SGD(critic.parameters(), lr=0.1))
""",
        "in-place",
        ("between `critic(fake)` in line 13 and this backward call", "it is kept here self.net(x)"),
        "compute what `critic(fake)` in line 13 gives, and the loss of it, anew after that step",
    ),
    Crash(
        "item() in the loss",
        TRAIN + "loss = torch.tensor(model(inputs).sum().item())\nloss.backward()\n",
        "no-graph",
        ("loss has no graph", "item", "loss = torch.tensor("),
        "compute the loss of what stands before item",
    ),
    Crash(
        "a loss under no_grad",
        TRAIN + "with torch.no_grad():\n    loss = model(inputs).sum()\n    loss.backward()\n",
        "no-graph",
        ("gradients are disabled",),
        "move that line out of no_grad",
    ),
    Crash(
        "a loss of many numbers",
        TRAIN + "loss = model(inputs)\nloss.backward()\n",
        "no-scalar",
        ("loss (8, 3)",),
        "loss.mean()",
    ),
    Crash(
        "a parameter written",
        HEAD + "weight = torch.randn(3, requires_grad=True)\nweight -= 1\n",
        "leaf-in-place",
        ("weight",),
        "torch.no_grad()",
    ),
    Crash(
        "parameters of a model that a dictionary holds",
        TRAIN + "fast = dict(model.named_parameters())\nfor name in fast:\n    fast[name] -= 0.1\n",
        "leaf-in-place",
        ("fast[name] is model[0].weight, which asks", "fast = dict(model.named_parameters())"),
        "fast[name] = fast[name] - 0.1",
    ),
    Crash(
        "an exception in a worker",
        LOADER.replace("ITEM", "return torch.ones(3)[index]").replace("WORKERS", "1"),
        "data",
        ("sample 3 of Samples", "torch.ones(3)[index]"),
        "dataset[3]",
    ),
    Crash(
        "an exception in a data set",
        LOADER.replace("ITEM", "return {0: 1}[index]").replace("WORKERS", "0"),
        "data",
        ("sample 1 of Samples", "{0: 1}[index]"),
        "",
    ),
    Crash(
        "samples of different length",
        LOADER.replace("ITEM", "return torch.ones(3 + index % 2)").replace("WORKERS", "0"),
        "data",
        ("sample 1 is a tensor (4,) of float32", "another is a tensor (3,)"),
        "collate_fn",
    ),
    Crash(
        "memory",
        HEAD
        + """
kept = []
layer = nn.Linear(4, 4)
for step in range(3):
    kept.append(layer(torch.randn(2, 4)))
rows = torch.zeros(1, 1).expand(1 << 26, 1)
table = rows + rows.T
""",
        "memory",
        ("PiB|TiB", "kept keeps 3 tensors", "broadcast to (67108864, 67108864)", "kept.append"),
        "item()",
    ),
    Crash(
        "a view across a transpose",
        HEAD + "x = torch.randn(2, 3, 4)\ny = (x * 2).transpose(1, 2).view(2, 12)\n",
        "shape",
        ("(x * 2).transpose(1, 2) is not contiguous",),
        "(x * 2).transpose(1, 2).reshape(2, 12)",
    ),
    Crash(
        "one-hot rows of integers",
        HEAD
        + "scores = torch.randn(6, 4)\nrows = F.one_hot(torch.arange(6) % 4, 4)\nnn.CrossEntropyLoss()(scores, rows)\n",
        "dtype",
        ("rows (6, 4) is int64", "int64"),
        "rows.argmax(1)",
    ),
    Crash(
        "a mask that stays where it was made",
        HEAD
        + """
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.ones(4, 4)
    def forward(self, scores):
        return scores + self.mask

Masked()(torch.zeros(2, 4, 4, device="meta"))
""",
        "device",
        ("scores is on cuda:0", "self.mask is on cpu", "self.mask = torch.ones(4, 4)"),
        "self.register_buffer('mask', …)",
    ),
    Crash(
        "a file that is not there, in a worker",
        LOADER.replace("ITEM", "return open(f'{index}.png')").replace("WORKERS", "1"),
        "data",
        ("sample 0 of Samples", "open(f'{index}.png')"),
        "dataset[0]",
    ),
    Crash(
        "memory of a device",
        "import torch\nraise torch.cuda.OutOfMemoryError('CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 …')\n",
        "memory",
        ("1.5 GiB were asked for at once|1.50 GiB were asked for at once",),
        "a smaller batch",
    ),
    Crash(
        "a state of a wrapped model",
        TRAIN + "model.load_state_dict(nn.DataParallel(model).state_dict())\n",
        "state",
        ("begin with 'module.'", "DataParallel"),
        "key.removeprefix('module.')",
    ),
    Crash(
        "a state for a wrapped model",
        TRAIN + "nn.DataParallel(model).load_state_dict(model.state_dict())\n",
        "state",
        ("the keys of the module, those of DataParallel, begin with 'module.'",),
        "'module.' + key",
    ),
    Crash(
        "a state of other sizes",
        TRAIN
        + "model.load_state_dict(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5)).state_dict())\n",
        "state",
        ("2.weight is [5, 16] in the state and [3, 16] in Sequential", "2.bias"),
        "strict=False",
    ),
    Crash(
        "a state of other sizes, and keys that may differ",
        TRAIN
        + "state = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5)).state_dict()\n"
        + "model.load_state_dict(state, strict=False)\n",
        "state",
        ("2.weight is [5, 16] in the state and [3, 16] in Sequential", "and no other sizes"),
        "if not key.startswith('2.')}, strict=False) in line",
    ),
    Crash(
        "doubles written into a table",
        HEAD
        + "import numpy as np\ndef ranks(n):\n    return np.arange(n) / n\n"
        + "table, rows = torch.zeros(9), torch.tensor([1, 2])\ntable[rows] = torch.from_numpy(ranks(2))\n",
        "dtype",
        (
            "table is float32, and is given values of float64",
            "`torch.from_numpy(ranks(2))`",
        ),
        "(torch.from_numpy(ranks(2))).to(table.dtype)",
    ),
    Crash(
        "one-hot rows of what is computed",
        HEAD
        + "class Columns:\n    def __init__(self, **held):\n        self.held = held\n"
        + "    def __getattr__(self, name):\n        return self.held[name]\n"
        + "columns = Columns(day=torch.ones(3))\nF.one_hot(columns.day, 7)\n",
        "dtype",
        ("columns.day is of another dtype",),
        "columns.day.long() in line 11 passes, if it holds whole numbers",
    ),
    Crash(
        "one of several views written in place",
        HEAD + "x = torch.ones(4, 2, requires_grad=True) * 2\nleft, right = x.unbind(1)\nright -= 0.5\n",
        "in-place",
        ("right is a view that unbind gave",),
        "right = right - 0.5",
    ),
    Crash(
        "weighted losses that are not added up",
        TRAIN
        + "loss = F.mse_loss(model(inputs), torch.ones(8, 3), reduction='none') / 24\nloss.backward()\n",
        "no-scalar",
        ("loss (8, 3) is not one number",),
        "loss.sum() in line 10 passes, if its numbers are weighted and the weights add up to 1",
    ),
    Crash(
        "a state of another model",
        TRAIN + "model.load_state_dict({'head': torch.ones(3)})\n",
        "state",
        ("Sequential needs 0.weight, 0.bias, 2.weight and 1 more", "the state holds head"),
        "build the model as it was when it was saved",
    ),
    Crash(
        "a state of another optimizer",
        TRAIN
        + "optimizer.load_state_dict(torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1).state_dict())\n",
        "state",
        ("groups of [2] parameters", "groups of [4]"),
        "frozen layers included",
    ),
    Crash(
        "a recurrent layer in a Sequential",
        HEAD + "model = nn.Sequential(nn.GRU(4, 8), nn.Linear(8, 2))\nmodel(torch.randn(5, 2, 4))\n",
        "module",
        ("0 gives a tuple",),
        "a module whose forward calls it and returns the first part",
    ),
    Crash(
        "a forward without return",
        NETWORK.replace("return self.fc2", "self.fc2")
        + "scores = model(torch.randn(5, 3, 7, 7))\nF.cross_entropy(scores, torch.zeros(5).long())\n",
        "module",
        ("scores is None",),
        "is `return` missing in a forward?",
    ),
    Crash(
        "layers in a plain list",
        HEAD
        + """
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 1)]

model = Stack()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""",
        "module",
        ("model (Stack) has no parameters", "self.layers of Stack is a plain list of modules"),
        "self.layers = nn.ModuleList(…)",
    ),
    Crash(
        "samples without return",
        LOADER.replace("ITEM", "return torch.zeros(2) if index % 2 == 0 else None").replace("WORKERS", "0"),
        "data",
        ("sample 1 is None",),
        "a path through __getitem__ returns nothing",
    ),
    Crash(
        "objects that make no batch",
        LOADER.replace("ITEM", "return torch.zeros(2), {1, 2}").replace("WORKERS", "0"),
        "data",
        ("a set of length 2",),
        "collate_fn",
    ),
    Crash(
        "a window larger than what is left",
        HEAD + "model = nn.Sequential(nn.MaxPool2d(4), nn.Conv2d(1, 4, 5))\nmodel(torch.randn(1, 1, 8, 8))\n",
        "shape",
        ("nothing is left for 1", "2 x 2", "input of 1 (1, 1, 2, 2)"),
        "larger inputs, or fewer layers",
    ),
    Crash(
        "heads that do not divide the width",
        HEAD
        + "x = nn.Linear(48, 144)(torch.randn(2, 6, 48))\nq, k, v = x.chunk(3, -1)\nq = q.view(2, 6, 5, 48 // 5)\n",
        "shape",
        ("q (2, 6, 48)", "(2, 6, 5, 9)"),
        "",
    ),
    Crash(
        "a mask without heads",
        HEAD
        + "scores = torch.randn(2, 4, 6, 6)\nmask = torch.ones(2, 6, 6)\nscores.masked_fill(mask == 0, -1e9)\n",
        "shape",
        ("scores (2, 4, 6, 6)", "mask == 0 (2, 6, 6)"),
        "(mask == 0).unsqueeze(1)",
    ),
    Crash(
        "a skip connection of an odd size",
        HEAD
        + "x = torch.randn(2, 1, 15, 15)\nlow = nn.Conv2d(1, 4, 3, 2, 1)(x)\n"
        + "high = nn.ConvTranspose2d(4, 4, 2, 2)(low)\ntorch.cat([x, high], dim=1)\n",
        "shape",
        ("high (2, 4, 16, 16)", "x (2, 1, 15, 15)", "high (2, 4, 16, 16)"),
        "F.interpolate(x, size=high.shape[-2:])",
    ),
    Crash(
        "a sample that is None",
        LOADER.replace("ITEM", "return None if index == 6 else torch.zeros(3)").replace("WORKERS", "0"),
        "data",
        ("sample 6 is None, and others are a tensor (3,) of float32",),
        "a path through __getitem__ returns nothing",
    ),
    Crash(
        "more memory than there is, beside a list of losses",
        TRAIN + "kept = [model(inputs).mean() for _ in range(3)]\ngrid = torch.zeros(200_000, 200_000, 60)\n",
        "memory",
        ("8.73 TiB",),
        "see the sizes that are given | keep values in kept",
    ),
    Crash(
        "scores that were made under no_grad",
        TRAIN + "with torch.no_grad():\n    scores = model(inputs)\nloss = scores.mean()\nloss.backward()\n",
        "no-graph",
        ("gradients are disabled where `model(inputs)` stands", "loss = scores.mean()"),
        "move that line out of no_grad",
    ),
    Crash(
        "a table that is longer than the sequence",
        HEAD + "x = torch.randn(4, 20, 32)\ntable = torch.randn(50, 32)\nx + table\n",
        "shape",
        ("x (4, 20, 32)", "table (50, 32)", "table (50, 32)"),
        "table[:x.shape[1]]",
    ),
    Crash(
        "numbers as a condition",
        HEAD + "keep = torch.tensor([1, 0])\ntorch.where(keep, torch.ones(2), torch.zeros(2))\n",
        "call",
        ("keep (2,) int64",),
        "keep.bool()",
    ),
    Crash(
        "a penalty that was computed before the loop",
        TRAIN
        + "penalty = sum(p.pow(2).sum() for p in model.parameters())\n"
        + "for _ in range(2):\n    loss = model(inputs).mean() + penalty\n    loss.backward()\n",
        "second-backward",
        ("penalty",),
        "compute that part anew in each turn of the loop",
    ),
)

CRASHES += (
    Crash(
        "a state of several tensors that keeps its graph",
        HEAD
        + "net, state = nn.LSTM(4, 8), None\nfor _ in range(2):\n    out, state = net(torch.randn(3, 2, 4), state)\n"
        + "    out.mean().backward()\n",
        "second-backward",
        ("state is carried",),
        "state = tuple(one.detach() for one in state) after line 8 passes",
    ),
    Crash(
        "a layer that writes in place",
        HEAD
        + "layer, act = nn.Linear(4, 4), nn.ReLU(inplace=True)\nkept = layer(torch.randn(2, 4)).sigmoid()\n"
        + "shown = act(kept)\nshown.sum().backward()\n",
        "in-place",
        ("`shown = act(kept)` writes",),
        "inplace=False",
    ),
    Crash(
        "an array handed to layers in one expression",
        HEAD
        + "import numpy as np\nmodel = nn.Sequential(nn.Linear(3, 2))\nmodel(torch.tensor(np.ones(3)))\n",
        "dtype",
        ("torch.tensor(np.ones(3)) is float64", "weight of 0 is float32"),
        "torch.tensor(np.ones(3)).float() passes",
    ),
    Crash(
        "a mask of tokens beside scores of heads",
        HEAD
        + "scores = torch.randn(2, 4, 6, 6)\nmask = torch.zeros(2, 6).bool()\nscores.masked_fill(mask, -1e9)\n",
        "shape",
        ("scores (2, 4, 6, 6)", "mask (2, 6)"),
        "mask[:, None, None, :]",
    ),
    Crash(
        "more classes than columns",
        HEAD + "labels = torch.tensor([1, 2, 5])\nnn.functional.one_hot(labels, num_classes=5)\n",
        "index",
        ("labels holds 5 at 2", "num_classes is 5"),
        "torch.tensor([1, 2, 5]) - 1 in line 5 passes | num_classes=6",
    ),
    Crash(
        "log-probabilities of the old policy with their graph",
        HEAD
        + "policy, states = nn.Linear(4, 2), torch.randn(8, 4)\nactions = torch.zeros(8, 1).long()\n"
        + "old = policy(states).log_softmax(1).gather(1, actions)\nfor _ in range(2):\n"
        + "    new = policy(states).log_softmax(1).gather(1, actions)\n    (new - old).exp().mean().backward()\n",
        "second-backward",
        ("old was made before",),
        "old.detach()",
    ),
    Crash(
        "next tokens as an expression",
        HEAD + "ids = torch.randint(0, 9, (2, 6))\nscores = nn.Embedding(9, 9)(ids[:, :-1])\n"
        "F.cross_entropy(scores, ids[:, 1:])\n",
        "target",
        ("ids[:, 1:] (2, 5) does not fit scores (2, 5, 9)",),
        "scores.transpose(1, 2)",
    ),
    Crash(
        "images of which one is halved and doubled",
        HEAD + "def join(small, large):\n    return F.interpolate(small, scale_factor=2) + large\n"
        "join(torch.ones(1, 2, 7, 7), torch.ones(1, 2, 15, 15))\n",
        "shape",
        ("large (1, 2, 15, 15)",),
        "size=large.shape[-2:]",
    ),
    Crash(
        "a matrix of other rows",
        HEAD + "table, weight = torch.ones(6, 16), torch.ones(12, 3)\ntable @ weight\n",
        "shape",
        ("weight (12, 3)",),
        "",
    ),
    Crash(
        "saved tensors that are not taken apart",
        HEAD
        + "class Square(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        + "        ctx.save_for_backward(x)\n        return x * x\n    @staticmethod\n    def backward(ctx, g):\n"
        + "        x = ctx.saved_tensors\n        return 2 * x * g\n"
        + "Square.apply(torch.ones(3, requires_grad=True)).sum().backward()\n",
        "index",
        ("x holds tensors, and is none",),
        "x[0] in line 13 passes, or x taken apart",
    ),
    Crash(
        "a function without gradients",
        TRAIN
        + "@torch.no_grad()\ndef score(x):\n    return model(x)\nloss = score(inputs).mean()\nloss.backward()\n",
        "no-graph",
        ("gradients are disabled in score",),
        "score without no_grad",
    ),
    Crash(
        "noise for a generator of images",
        HEAD + "noise = torch.randn(8, 10)\nnn.ConvTranspose2d(10, 4, 4)(noise)\n",
        "shape",
        ("is given (8, 10)",),
        "noise[:, :, None, None]",
    ),
    Crash(
        "a residual of other channels",
        HEAD + "x = torch.ones(1, 4, 8, 8)\ny = nn.Conv2d(4, 6, 3, padding=1)(x)\nx + y\n",
        "shape",
        ("y (1, 6, 8, 8)",),
        "nn.Conv2d(4, 6, 1) of x passes",
    ),
    Crash(
        "a state for a full batch",
        HEAD
        + "net, state = nn.GRU(4, 8, batch_first=True), torch.zeros(1, 16, 8)\nnet(torch.ones(6, 5, 4), state)\n",
        "shape",
        ("is (1, 16, 8), and must be (1, 6, 8)",),
        "",
    ),
    Crash(
        "the largest along a dimension as a number",
        HEAD + "scores = torch.ones(3, 4)\n0.9 * scores.max(1)\n",
        "module",
        ("is multiplied",),
        "take .values",
    ),
    Crash(
        "actions of another shape",
        HEAD
        + "policy = torch.distributions.Normal(torch.zeros(8, 2), 1.0)\naction = torch.ones(8)\npolicy.log_prob(action)\n",
        "distribution",
        ("(8, 2)",),
        "unsqueeze(-1)",
    ),
    Crash(
        "batches of other sizes",
        HEAD + "left, right = torch.ones(3, 5, 5), torch.ones(2, 5, 8)\ntorch.bmm(left, right)\n",
        "shape",
        ("right (2, 5, 8)",),
        "",
    ),
    Crash(
        "nodes that are counted from 1",
        HEAD + "to = torch.tensor([1, 2, 3])\ntorch.zeros(3, 2).index_add(0, to, torch.ones(3, 2))\n",
        "index",
        ("to holds 3 at 2",),
        "they begin at 1: torch.tensor([1, 2, 3]) - 1 in line 5 passes",
    ),
)

UNKNOWN = (
    "raise RuntimeError('something else')",
    "raise ValueError('mat1')",
    "import torch\nraise RuntimeError('Trying to backward through the graph a second time')",
    "import torch\nraise RuntimeError('mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)')",
    "import torch\nraise IndexError('Target 7 is out of bounds.')",
    "raise RuntimeError('Boolean value of Tensor with more than one value is ambiguous')",
    "import torch\ntorch.optim.SGD([], lr=0.1)",
    "raise TypeError(\"linear(): argument 'input' (position 1) must be Tensor, not NoneType\")",
    "{}['missing']",
    "raise KeyError('view size is not compatible with input tensor\\'s size and stride')",
)
