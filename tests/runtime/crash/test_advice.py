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
SIZED = (
    HEAD + NET + "        self.a, self.b = nn.Linear(3, width), nn.Linear(width, 2)\n"
    "CFG = {'big': {'width': 8}, 'small': {'width': 4}}\n"
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
    (TRAIN + "model(inputs).numpy()", "model(inputs).detach() passes", ()),
    (TRAIN + "import numpy as np\ny = model(inputs)\nnp.asarray(y)", "y.detach() passes", ("np.detach",)),
    (WIDTH + "student.load_state_dict(saved)", "Net(8) in line 9 passes", ("strict", "build the model")),
    (
        SIZED + "def build(role):\n    part = CFG[role]\n    return Net(CFG['small']['width'])\n"
        "def load(state):\n    net = build('big')\n    net.load_state_dict(state)\nload(Net(8).state_dict())",
        "Net(part['width']) in line 12 passes",
        ("Net(8)",),
    ),
    (
        SIZED + "del CFG\ndef load(state, cfg):\n    net = Net(4)\n    net.load_state_dict(state)\n"
        "load(Net(8).state_dict(), {'net_width': 8})",
        "Net(cfg['net_width']) in line 12 passes",
        ("Net(8)",),
    ),
    (
        SIZED + "def build(width):\n    return Net(width)\ndef load(state, width=8):\n    net = build(4)\n"
        "    net.load_state_dict(state)\nload(Net(8).state_dict())",
        "build(width) in line 13 passes",
        ("Net(8)",),
    ),
    (
        WIDTH
        + "def sized(width):\n    return nn.Sequential(nn.Linear(3, width))\nsized(4).load_state_dict(saved)",
        "build the model as it was when it was saved",
        ("passes",),
    ),
    (
        TRAIN + "state = {f'enc.{i}.w': torch.ones(1) for i in range(4)}\nmodel.load_state_dict(state)",
        "build the model as it was when it was saved",
        ("strict",),
    ),
    (
        HEAD + "with torch.device('meta'):\n    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))\n"
        "net.load_state_dict(nn.Sequential(nn.Linear(2, 3)).state_dict(), strict=False, assign=True)\n"
        "net(torch.ones(1, 2))",
        "to_empty(device=…) of what is on meta alone",
        ("model.to_empty", ".to('cpu')"),
    ),
    (
        HEAD + "net, ctc = nn.Conv1d(3, 5, 3, stride=2, padding=1), nn.CTCLoss()\n"
        "x, n = torch.ones(2, 3, 9), torch.tensor([9, 8])\n"
        "y = net(x).log_softmax(1).permute(2, 0, 1)\nctc(y, torch.ones(2, 2).long(), n, torch.tensor([2, 1])).backward()",
        "(n + 1) // 2 passes",
        ("divide",),
    ),
    (
        TRAIN + "saved = torch.optim.Adam(model.parameters()).state_dict()\nmodel[0].requires_grad_(False)\n"
        "kept = [one for one in model.parameters() if one.requires_grad]\n"
        "optimizer = torch.optim.Adam(kept, lr=0.1)\noptimizer.load_state_dict(saved)",
        "torch.optim.Adam(model.parameters(), lr=0.1) in line",
        ("frozen",),
    ),
    (
        HEAD + "def spread(x, rows, net):\n    out = net(x)\n"
        "    return torch.zeros(len(x), x.size(1)).index_add(0, rows, out)\n"
        "rows, a, b = torch.arange(4), nn.Linear(3, 5), nn.Linear(5, 2)\n"
        "for _ in range(2):\n    spread(spread(torch.ones(4, 3), rows, a), rows, b).sum().backward()",
        "torch.zeros(len(x), out.shape[1]) in line 7 passes",
        ("out[",),
    ),
    (
        HEAD
        + "CFG = {'max_len': 4}\n"
        + NET.replace("width", "n")
        + "        self.register_buffer('pe', torch.ones(1, n, 3))\n"
        "    def forward(self, x):\n        return x + self.pe[:, :x.size(1)]\n"
        "net = Net(CFG['max_len'])\nnet(torch.ones(2, 6, 3))",
        "max_len = 6 in line 5 passes",
        (".T", "then line"),
    ),
    (
        HEAD
        + NET.replace("width", "size=8")
        + "        final = size // 2\n        self.fc = nn.Linear(final * final, 3)\n"
        "    def forward(self, x):\n        return self.fc(F.max_pool2d(x, 4).flatten(1))\nnet = Net()\n"
        "for _ in range(2):\n    net(torch.ones(5, 1, 8, 8)).sum().backward()",
        "final = size // 4 in line 8 passes",
        ("nn.Linear",),
    ),
    (
        SIZED
        + "def large(cfg):\n    return Net(cfg['big']['width'])\ndef small(cfg):\n    return Net(cfg['small']['width'])\n"
        "def load(state, cfg):\n    net = small(cfg)\n    net.load_state_dict(state)\n    return net\n"
        "load(large(CFG).state_dict(), CFG)",
        "large(cfg) in line 15 passes",
        ("Net(",),
    ),
    (
        HEAD + "def contrast(a, b):\n    z = torch.cat([a, b], dim=1)\n    sim = z @ z.t()\n"
        "    sim = sim.masked_fill(torch.eye(2 * len(a)).bool(), -1e9)\n"
        "    return F.cross_entropy(sim, torch.arange(2 * len(a)).roll(len(a)))\nnet = nn.Linear(3, 2)\n"
        "for _ in range(2):\n    contrast(net(torch.ones(4, 3)), net(torch.ones(4, 3))).backward()",
        "torch.cat([a, b], dim=0) in line 6 passes",
        ("then line",),
    ),
    (UP.replace("import torch.nn.functional as F\n", ""), "nn.functional.interpolate(x", ("= F.",)),
    (
        HEAD + "heads = nn.ModuleDict({'a': nn.Linear(3, 1), 'b': nn.Linear(3, 1)})\ndef run(x):\n"
        "    return {'a': heads['a'](x).squeeze(1), 'b': heads['b'](x)}\ndef fit(x, y):\n    out = run(x)\n"
        "    sum(F.binary_cross_entropy_with_logits(out[key], y) for key in out).backward()\n"
        "for _ in range(2):\n    fit(torch.ones(4, 3), torch.ones(4))",
        "heads['b'](x).squeeze(-1) in line 7 passes",
        ("out[key]",),
    ),
    (
        SIZED + "def load(state, args, data):\n    net = Net(args['small'])\n    net.load_state_dict(state)\n"
        "load(Net(8).state_dict(), {'width': 8, 'small': 4}, {'width': 8})",
        "Net(args['width']) in line 11 passes",
        ("data[",),
    ),
    (UP, "F.interpolate(x, size=skip.shape[-2:])", ("dim=", "skip[")),
)

COLLATED = (
    HEAD + "def joined(samples):\n    return {'n': len(samples), 'mask': torch.ones(2)}\n"
    "data = [{'ids': torch.ones(2)}] * 4\nload = torch.utils.data.DataLoader\n"
    "def run(loader):\n    for batch in loader:\n        batch['mask']\n"
    "train, valid = load(data, collate_fn=joined), load(data)\nrun(train)\nrun(valid)"
)
HELD = (
    HEAD + "from torch.utils.data import DataLoader\ndef padded(rows):\n"
    "    return nn.utils.rnn.pad_sequence(rows, batch_first=True), len(rows)\n"
    "class Trainer:\n    def __init__(self, data):\n"
    "        self.train, self.valid = self.load(data, True), self.load(data, False)\n"
    "    def load(self, data, train):\n        if train:\n"
    "            return DataLoader(data, 2, collate_fn=padded)\n        return DataLoader(data, 2)\n"
    "    def run(self, loader):\n        for batch, count in loader:\n            batch.mean()\n"
    "trainer = Trainer([torch.ones(one, 2) for one in (3, 4, 5, 6)])\n"
    "trainer.run(trainer.train)\ntrainer.run(trainer.valid)"
)
SHORT = (
    HEAD + "rnn = nn.GRU(3, 5)\ndata = [torch.ones(3)] * 10\n"
    "loader = torch.utils.data.DataLoader(data, batch_size=4)\nstate = torch.zeros(1, 4, 5)\n"
    "for x in loader:\n    out, state = rnn(x[None], state.detach())"
)
CAUSAL = (
    HEAD + NET + "        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 2, 3, padding=2))\n"
    "        self.skip = nn.Conv1d(2, 2, 1)\n"
    "    def forward(self, x):\n        h = torch.relu(self.conv(x))\n        return h + self.skip(x)\n"
    "Net(1)(torch.ones(1, 2, 50))"
)
CASES += (
    (
        HEAD + "queue, at, n = torch.zeros(3, 128), 114, 32\nqueue[:, at : at + n] = torch.ones(32, 3).T",
        "torch.arange(at, at + n) % 128 in place of at:at + n goes on at the beginning",
        (),
    ),
    (COLLATED, "collate_fn=joined in line ", ()),
    (HELD, "collate_fn=padded in line 14 passes", ("lambda", "pad or crop")),
    (SHORT, "drop_last=True", ()),
    (
        HEAD + "x = [torch.ones(2, 4), torch.ones(3, 4)]\ntorch.stack(x)",
        "pad_sequence(x, batch_first=True)",
        ("torch.cat",),
    ),
    (HEAD + "torch.ones(5, 40).view(-1, 3, 3)", "", ("passes",)),  # other numbers would only fit
    (
        TRAIN + "F.cross_entropy(model(inputs), torch.zeros(8).long(), torch.ones(2))",
        "3 weights, one for each class: torch.bincount(…, minlength=3)",
        (),
    ),
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
    told = {what: at.expression for what, at in found.other}
    assert told["teacher, which has the keys and the sizes of the state, is made here"] == "Net(8)"
    assert "4 of 4 entries" not in str(found.because)  # b.bias is of one size in both
    assert [*told.values()] == ["Net(4)", "Net(8)"]


def test_a_state_that_does_not_fit_is_told_with_where_one_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + "import io\nfile = io.BytesIO()\ntorch.save(nn.Linear(3, 2).state_dict(), file)\nfile.seek(0)\n"
        "nn.Linear(4, 2).load_state_dict(torch.load(file))\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert "torch.save(nn.Linear(3, 2).state_dict(), file)" in [at.expression for _, at in found.other]


def test_a_short_batch_is_told_with_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SHORT + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert (
        "the last batch of loader has 2 samples of 4 (10 = 2 · 4 + 2), and state.detach() is for 4"
        in found.because
    )
    assert [what for what, _ in found.other] == ["the loader is made here"]


def test_a_layer_with_parametrizations_is_one_row_with_what_it_gave(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(CAUSAL + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert found.layers == (
        ("conv", "(1, 2, 50)", "(1, 2, 52)"),
        ("skip", "(1, 2, 50)", "(1, 2, 50)"),
    )


def test_samples_of_many_shapes_are_not_told_as_one_odd_among_equals(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "data = [torch.ones(n) for n in (3, 4, 5, 6)]\n"
        "next(iter(torch.utils.data.DataLoader(data, batch_size=4)))\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert "others" not in found.summary


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("mode == 'rows'", ["y = x.permute(0, 2, 1)"]),
        ("mode != 'rows'", ["y = x.permute(2, 1, 0)"]),
        ("bool(x.sum() > 0)", []),
    ],
)
def test_an_origin_in_a_branch_that_was_not_taken_is_not_named(
    test: str, says: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + f"def run(x, mode):\n    if {test}:\n        y = x.permute(0, 2, 1)\n    else:\n"
        "        y = x.permute(2, 1, 0)\n    return y.view(-1)\nrun(torch.ones(2, 3, 4), 'rows')\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert [at.expression for one in found.operands if (at := one.made_at)] == says


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def features():\n    return model(inputs).exp()\nfeatures().numpy()", ["model(inputs).exp()"]),
        (
            "plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=1)\nplan.step()\nplan.step()",
            ["plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=1)"],
        ),
        (
            "adam = torch.optim.Adam([model[0].weight])\nadam.load_state_dict(optimizer.state_dict())",
            ["adam = torch.optim.Adam([model[0].weight])"],
        ),
    ],
)
def test_what_a_method_was_asked_of_is_told_with_its_origin(
    source: str, says: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(TRAIN + source + "\n")
    found, error = explained(path)
    assert found is not None, error
    assert [at.expression for _, at in found.other] == says


MASKS = {
    "a stack, by place": (
        "net = nn.TransformerEncoder(LAYER, 1, enable_nested_tensor=False)",
        "net(x, pad)",
        "pad (3, 5) bool is given as mask of net, and must be (5, 5) there",
        "net(x, src_key_padding_mask=pad) passes",
    ),
    "a stack, by name": (
        "net = nn.TransformerEncoder(LAYER, 1, enable_nested_tensor=False)",
        "net(x, mask=pad == 1)",
        "pad == 1 (3, 5) bool is given as mask of net, and must be (5, 5) there",
        "net(x, src_key_padding_mask=pad == 1) passes",
    ),
    "a layer": (
        "net = LAYER",
        "net(x, is_causal=False, src_mask=pad)",
        "pad (3, 5) bool is given as src_mask of net, and must be (5, 5) there",
        "net(x, is_causal=False, src_key_padding_mask=pad) passes",
    ),
    "attention": (
        "net = nn.MultiheadAttention(8, 2, batch_first=True)",
        "net(x, x, x, None, True, pad)",
        "pad (3, 5) bool is given as attn_mask of net, and must be (5, 5) there",
        "net(x, x, x, key_padding_mask=pad, need_weights=True) passes",
    ),
    "one that is no mask of padding either": (
        "net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 1, enable_nested_tensor=False)",
        "net(x, mask=pad)",
        "pad (3, 5) bool is given as mask of net, and must be (3, 3) there",
        None,
    ),
    "numbers, whose meaning is not known": (
        "net = nn.MultiheadAttention(8, 2, batch_first=True)",
        "net(x, x, x, attn_mask=pad.float())",
        "pad.float() (3, 5) float32 is given as attn_mask of net, and must be (5, 5) there",
        None,
    ),
}


@pytest.mark.parametrize(("made", "call", "summary", "advice"), MASKS.values(), ids=MASKS)
def test_a_mask_of_padding_is_told_from_one_of_attention(
    made: str, call: str, summary: str, advice: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    layer = "nn.TransformerEncoderLayer(8, 2, batch_first=True)"
    path.write_text(
        f"{HEAD}{made.replace('LAYER', layer)}\nx, pad = torch.randn(3, 5, 8), torch.zeros(3, 5).bool()\n{call}\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.summary == summary
    assert (advice in found.advice) if advice else not any("padding" in one for one in found.advice)


def test_samples_are_those_that_the_message_names_and_the_loader_is_told_from_another(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "def padded(rows):\n    return nn.utils.rnn.pad_sequence(rows, batch_first=True)\n"
        "data, load = [torch.ones(n) for n in (3, 4, 5, 6)], torch.utils.data.DataLoader\n"
        "train, valid = load(data, 4, collate_fn=padded), load(data, 4, sampler=[2, 0, 3, 1])\n"
        "def run(loader):\n    for batch in loader:\n        batch\nrun(train)\nrun(valid)\n"
    )
    found, error = explained(path)
    assert found is not None, error
    assert "[5] at entry 0 and [3] at entry 1" in str(error)
    assert "sample 0 (entry 1 of the batch) is a tensor (3,)" in found.summary
    assert found.because == ("valid has no collate_fn, and train has padded",)
