"""Errors that no explainer knows: what the operands were, and the changes with which the call was seen to pass."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.crash import explainers
from stablelint.runtime.crash.explainers import Explainer
from stablelint.runtime.crash.explanation import Explanation
from tests.runtime.crash.crashes import HEAD, TRAIN
from tests.runtime.crash.running import explained

X = HEAD + "x = torch.randn(4, 3)\n"
ATTENTION = HEAD + "att = nn.MultiheadAttention(8, 2)\nx = torch.randn(3, 5, 8)\n"
DATA = HEAD + "from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split\n"

OF_TENSORS = (
    (
        HEAD + "from torch.nn.utils.rnn import pack_padded_sequence\ne = torch.randn(8, 12, 20)\n"
        "pack_padded_sequence(e, torch.full((12,), 8), batch_first=True)",
        "holds 12 lengths, and the batch of e (8, 12, 20) has 8",
        "e.transpose(0, 1) passes",
    ),
    (
        HEAD + "x = torch.randn(6, 16, 12, 12)\nnorm = nn.LayerNorm(16)\nnorm(x).mean()",
        "is given (6, 16, 12, 12)",
        "x.permute(0, 2, 3, 1) passes, and the call gives (6, 12, 12, 16)",
    ),
    (X + "y = x[0]\ntorch.cat([x, y], 1)", "torch.cat fails on x (4, 3) float32 and y (3,) float32", ""),
    (X + "x.topk(5)", "topk fails on x (4, 3) float32", ""),
    (X + "batch = [x]\nbatch.to('cpu')", "batch is a list of 1: a tensor (4, 3)", ""),
    (
        ATTENTION + "mask = torch.zeros(5, 3).bool()\natt(x, x, x, attn_mask=mask)",
        "mask (5, 3) bool is given as attn_mask of att, and must be (3, 3) there",
        "att(x, x, x, key_padding_mask=mask) passes",
    ),
    (
        ATTENTION + "pad = torch.zeros(3, 5).bool()\natt(x, x, x, key_padding_mask=pad)",
        "does not take x (3, 5, 8) float32 and pad (3, 5) bool",
        "",
    ),
    (X + "F.softmax(x, dim=2)", "F.softmax fails on x (4, 3)", ""),
    (
        X + "i = torch.zeros(4).long()\nx.gather(1, i)",
        "gather fails on x (4, 3) float32 and i (4,) int64",
        "i.unsqueeze(1) passes, and the call gives (4, 1)",
    ),
    (
        X + "i = torch.zeros(2)\nx[i]",
        "indexing fails on x (4, 3) float32 and i (2,) float32",
        "i.long() passes",
    ),
    (X + "x.item()", "item fails on x (4, 3)", ""),
    (
        X + "y = torch.zeros(4, 3).long()\nF.binary_cross_entropy_with_logits(x, y)",
        "fails on x (4, 3) float32 and y (4, 3) int64",
        "",
    ),
    (HEAD + "nn.MultiheadAttention(10, 3)", "3 heads do not divide 10 features", ""),
    (X + "x.scatter(1, x, 1.0)", "scatter fails on x (4, 3)", ""),
    (
        X + "torch.utils.data.TensorDataset(x, torch.ones(9))",
        "TensorDataset fails on x (4, 3) float32 and torch.ones(9) (9,)",
        "",
    ),
    (
        X + "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
        "nn.Sequential(Net(), nn.Flatten(0), nn.Softmax(1))(x)",
        "2 (Softmax(dim=1)) does not take `input` of softmax (12,)",
        "",
    ),
)

CASES = (
    (
        HEAD + "w, k = torch.ones(6, 9), torch.ones(6, 9, 20)\ntorch.bmm(w, k)",
        "w (6, 9)",
        "w.unsqueeze(1) passes",
    ),
    (
        HEAD + "a, b = torch.ones(4, 8), torch.ones(4, 8)\nnn.CosineEmbeddingLoss()(a, b, torch.ones(4, 1))",
        "torch.ones(4, 1) (4, 1)",
        "torch.ones(4, 1).squeeze(-1) passes",
    ),
    (
        HEAD
        + "q, k = torch.ones(2, 10, 4, 8), torch.ones(2, 10, 4, 8)\ntorch.einsum('bqhd,bhkd->bhqk', q, k)",
        "torch.einsum fails on q (2, 10, 4, 8)",
        "k.transpose(1, 2) passes",
    ),
    (
        HEAD + "parts = [torch.ones(()), torch.ones(())]\ntorch.cat(parts)",
        "parts is a list of 2",
        "torch.stack passes",
    ),
    (HEAD + "nn.Linear(2, 3, use_bias=False)", "nn.Linear takes (in_features, out_features, bias=True", ""),
    (HEAD + "nn.LSTM(2, 3, batchfirst=True)", "batch_first= in place of batchfirst=", ""),
    (TRAIN + "o = torch.optim.LBFGS(model.parameters())\no.step()", "o is a LBFGS", "o.step takes (closure)"),
    (
        HEAD + "batch = {'x': 1, 'labels': 2}\ndef judge(x):\n    return x\njudge(**batch)",
        "judge takes (x): got an unexpected keyword argument 'labels'",
        "leave labels= out",
    ),
    (HEAD + "count = 25 / 2\nrange(count)", "count is 12.5", "int(count) in line 6 passes, or //"),
    (HEAD + "batch = {'label': 1}\nbatch['labels']", "the key 'label'|the keys 'label'", "batch['label']"),
    (
        HEAD + "batch = [{'x': torch.ones(2)}]\nbatch.to('cpu')",
        "batch is a list",
        "for key, value in one.items()",
    ),
    (
        DATA + "whole = TensorDataset(torch.ones(10, 2))\nn = 7\nrandom_split(whole, [n, 2])",
        "whole is a TensorDataset of length 10",
        "[0.8, 0.2]",
    ),
    (
        HEAD + "class Block(nn.Module):\n    def __init__(self, down=None):\n        super().__init__()\n"
        "        self.down = down\n    def forward(self, x):\n        return self.down(x)\nBlock()(torch.ones(2))",
        "self.down is None",
        "if self.down is not None",
    ),
    (
        TRAIN + "scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)\n"
        "for _ in range(9):\n    optimizer.step()\n    scheduler.step()",
        "scheduler was made for 3 steps, and step 4 is taken",
        "",
    ),
    (
        HEAD
        + "def check(x):\n    if x.dim() != 4:\n        raise ValueError('no images')\ncheck(torch.ones(2, 3))",
        "x is a tensor (2, 3) of float32",
        "",
    ),
    (
        HEAD + "w = torch.ones(3, requires_grad=True)\nw.sum().backward()\nwith torch.no_grad():\n"
        "    w = w - w.grad\n    w.grad.zero_()",
        "`w = w - w.grad` gives w a new tensor",
        "w -= …",
    ),
    (
        HEAD
        + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 3)\n"
        "    def forward(self, x):\n        return self.l(x).argmax(1).float()\nnet = Net()\n"
        "loss = F.mse_loss(net(torch.ones(4, 2)), torch.ones(4))\nloss.backward()",
        "`self.l(x).argmax(1)` cuts it off",
        "what stands before argmax",
    ),
    (
        TRAIN + "a, b = model[0], model[2]\nloss = a(inputs).mean()\n"
        "torch.autograd.grad(loss, [a.weight, b.weight])",
        "loss was not computed from model[2].weight (3, 16)",
        "allow_unused=True",
    ),
    (
        TRAIN + "act = model.act = lambda x: x\nimport io\ntorch.save(model, io.BytesIO())",
        "model.act is a lambda|act is a lambda",
        "model.state_dict()",
    ),
    (
        HEAD
        + "scores, mask = torch.ones(4, 2, 7, 7), torch.ones(4, 7) > 0\nscores.masked_fill(mask, float('-1e9'))",
        "mask (4, 7) bool",
        "mask[:, None, None, :] passes",
    ),
    (
        HEAD + "layer, x = nn.Conv2d(3, 4, 3).half(), torch.ones(1, 3, 8, 8)\nlayer(x)",
        "x is float32",
        "x.to(layer.weight.dtype) passes",
    ),
    (
        HEAD + "with torch.inference_mode():\n    x = torch.ones(2, 3)\nnn.Linear(3, 1)(x)",
        "x (2, 3) was computed under torch.inference_mode()",
        "torch.no_grad() in place of",
    ),
    (
        HEAD + "class Block(nn.Module):\n    def foward(self, x):\n        return x\nBlock()(torch.ones(2))",
        "Block has no method `forward`; it has foward",
        "def forward in place of def foward",
    ),
)


@pytest.mark.parametrize(("source", "says", "advice"), OF_TENSORS + CASES, ids=lambda one: None)
def test_names_the_operands_and_what_passes(source: str, says: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(source + "\n")
    found, error = explained(path)
    assert found is not None, error
    text = " | ".join([found.summary, *found.because, *found.advice])
    assert any(one in text for one in says.split("|")), text
    assert advice in " | ".join(found.advice), found.advice


def test_a_worker_explains_what_its_frames_hold(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        DATA + "class Rows(Dataset):\n    labels = {'a': 1}\n    def __len__(self):\n        return 3\n"
        "    def __getitem__(self, index):\n        name = 'abc'[index]\n        return self.labels[name]\n"
        "for batch in DataLoader(Rows(), num_workers=1):\n    pass\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert "name is the str 'b'" in " ".join(found.because)
    assert "if name in self.labels" in " ".join(found.advice)


def test_a_worker_that_fails_within_numpy_is_shown_at_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        DATA + "import numpy\nclass Rows(Dataset):\n    def __len__(self):\n        return 3\n"
        "    def __getitem__(self, index):\n        return numpy.load('nowhere.npy')\n"
        "for batch in DataLoader(Rows(), num_workers=1):\n    pass\n"
    )
    found, _ = explained(path)
    assert found is not None
    assert found.location is not None
    assert found.location.expression == "return numpy.load('nowhere.npy')"


def test_only_numbers_are_said_to_become_a_tensor(tmp_path: Path) -> None:
    for count, held in enumerate(("[{'x': torch.ones(2)}]", "['a']", "[1, 2]")):
        path = tmp_path / f"train{count}.py"
        path.write_text(f"{HEAD}batch = {held}\nbatch.float()\n")
        found, _ = explained(path)
        assert found is not None
        assert any("as_tensor" in one for one in found.advice) == (held == "[1, 2]")


def explanation_of(source: str, tmp_path: Path) -> Explanation:
    path = tmp_path / "train.py"
    path.write_text(HEAD + source)
    found, error = explained(path)
    assert found is not None, error
    return found


def test_tells_where_samples_became_other_rows(tmp_path: Path) -> None:
    found = explanation_of(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(8, 3)\n"
        "    def forward(self, x):\n        return self.head(x.view(-1, 8))\n"
        "net, x, y = Net(), torch.rand(4, 1, 4, 4), torch.zeros(4).long()\n"
        "out = net(x)\nF.cross_entropy(out, y)\n",
        tmp_path,
    )
    assert [(what, at.expression) for what, at in found.other][-1:] == [
        ("before out: (8, 8) of (4, 1, 4, 4)", "x.view(-1, 8)")
    ]


def test_layers_that_one_expression_applies_are_told_of_what_it_was_given(tmp_path: Path) -> None:
    found = explanation_of(
        "def up(i, o):\n    return nn.ConvTranspose2d(i, o, 3, stride=2, padding=1, output_padding=1)\n"
        "net = nn.Sequential(up(8, 4), nn.ReLU(), up(4, 1), nn.Sigmoid())\n"
        "h, x = torch.rand(2, 8, 4, 4), torch.rand(2, 1, 14, 14)\n"
        "recon = net(h)\nF.binary_cross_entropy(recon, x)\n",
        tmp_path,
    )
    assert [(what, at.expression) for what, at in found.other if " of " in what] == [
        ("recon: (2, 1, 16, 16) of (2, 8, 4, 4)", "net(h)")
    ]


def test_what_a_batch_is_taken_from_is_not_called_the_batch(tmp_path: Path) -> None:
    found = explanation_of(
        "data = torch.rand(20, 3, 4).flatten(1) * 2\n"
        "for batch in torch.utils.data.DataLoader(data, batch_size=5):\n    torch.ones(5, 4) * batch\n",
        tmp_path,
    )
    assert ("batch is taken from (20, 12) of (20, 3, 4)", "torch.rand(20, 3, 4).flatten(1)") in [
        (what, at.expression) for what, at in found.other
    ]


def test_no_step_of_the_data_is_told_that_has_no_part_in_what_fails(tmp_path: Path) -> None:
    found = explanation_of(
        "data = torch.rand(20, 4, 4)[:, None] * 2\n"
        "for batch in torch.utils.data.DataLoader(data, batch_size=5):\n    torch.ones(5) * batch\n",
        tmp_path,
    )
    assert not found.other


def test_asks_for_another_order_where_the_operands_agree_on_theirs(tmp_path: Path) -> None:
    found = explanation_of(
        "net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 1, enable_nested_tensor=False)\n"
        "x, padding = torch.randn(3, 5, 8), torch.zeros(3, 5).bool()\nnet(x, src_key_padding_mask=padding)\n",
        tmp_path,
    )
    assert found.advice == ("nn.TransformerEncoderLayer(8, 2, batch_first=True) in line 5 passes",)
    assert [one.name for one in found.operands] == ["x", "padding"]


def test_an_argument_comes_from_where_the_caller_made_it(tmp_path: Path) -> None:
    found = explanation_of(
        "def f(a):\n    return a @ torch.ones(4)\nrows = torch.ones(2, 3)\nf(rows)\n", tmp_path
    )
    made = found.operands[0].made_at
    assert made is not None
    assert made.expression == "rows = torch.ones(2, 3)"


def test_turns_the_operand_that_an_equation_does_not_fit(tmp_path: Path) -> None:
    found = explanation_of(
        "torch.einsum('bd,de,be->b', torch.ones(2, 3), torch.ones(4, 3), torch.ones(2, 4))\n", tmp_path
    )
    assert found.advice == ("torch.ones(4, 3).T passes, and the call gives (2,)",)


def test_memory_for_a_part_of_a_result(tmp_path: Path) -> None:
    found = explanation_of("x = torch.ones(3_000_000, 2)\nx[:, None] - x[None]\n", tmp_path)
    assert found.because[0] == "(3000000, 1, 2) and (1, 3000000, 2) broadcast to (3000000, 3000000, 2)"
    assert "in parts: x[:, None][i:i + " in found.advice[0]


def test_an_explainer_that_fails_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(explainers, "all_explainers", lambda: (Explainer(re.compile(""), fails),))
    found = explanation_of("torch.ones(2) + torch.ones(3)\n", tmp_path)
    assert found.summary == "`+` fails on torch.ones(2) (2,) float32 and torch.ones(3) (3,) float32"


def test_a_comparison_cuts_a_graph(tmp_path: Path) -> None:
    found = explanation_of(
        "w = torch.ones(3, requires_grad=True)\nwrong = w > 0.5\nloss = wrong.float().mean()\nloss.backward()\n",
        tmp_path,
    )
    assert found.advice == ("compute the loss of what stands before the comparison",)


def test_names_what_a_module_of_the_program_gave(tmp_path: Path) -> None:
    found = explanation_of(
        "class Net(nn.Module):\n    def forward(self, x):\n        return x[:, 2:]\n"
        "net, x, y = Net(), torch.ones(2, 8), torch.ones(2, 8)\n(net(x) - y).abs().mean()\n",
        tmp_path,
    )
    assert [(one.name, one.shape) for one in found.operands] == [("net(x)", (2, 6)), ("y", (2, 8))]


def test_a_size_that_is_in_another_place_is_no_other_setting(tmp_path: Path) -> None:
    found = explanation_of("nn.BatchNorm1d(24)(torch.randn(4, 11, 24))\n", tmp_path)
    assert found.advice == ("torch.randn(4, 11, 24).transpose(1, 2) passes, and the call gives (4, 24, 11)",)


def test_what_fails_at_its_next_use_is_changed_where_it_is_made(tmp_path: Path) -> None:
    found = explanation_of(
        "w, x = torch.ones(6), torch.ones(6, 3, 4, 4)\nmixed = w * x + (1 - w) * x[torch.arange(6)]\n",
        tmp_path,
    )
    assert found.advice[0] == "torch.ones(6)[:, None, None, None] in line 5 passes"


def test_what_is_done_for_its_effects_judges_no_change(tmp_path: Path) -> None:
    found = explanation_of(
        "scores = torch.randn(2, 5, 4, 4, requires_grad=True)\nlabel = torch.zeros(2, 1, 4, 4).long()\n"
        "loss = F.cross_entropy(scores, label)\nloss.backward()\n",
        tmp_path,
    )
    assert found.advice[0] == "label.squeeze(1) passes"


def test_calls_that_are_tried_warn_of_nothing(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEAD + "F.kl_div(torch.rand(3, 4).log(), torch.rand(4, 3))\n", "utf-8")
    told, _ = explained(path)
    assert told is not None
    assert [str(one.message) for one in recwarn] == []


def test_what_a_module_prints_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = explanation_of(
        "class Net(nn.Module):\n    def forward(self, x):\n        print('here')\n        return x[:, 2:]\n"
        "net, x, y = Net(), torch.ones(2, 8), torch.ones(2, 8)\n(net(x) - y).abs().mean()\n",
        tmp_path,
    )
    assert found.operands[0].name == "net(x)"
    assert capsys.readouterr().out == "here\n"


def test_what_is_tried_leaves_the_operands_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "total = torch.zeros(2, 3)\ntotal.index_add_(0, torch.zeros(9).long(), torch.ones(4, 3))\n"
    )
    _, error = explained(path)
    frame = error.__traceback__
    while frame is not None and "total" not in frame.tb_frame.f_locals:
        frame = frame.tb_next
    assert frame is not None
    assert not frame.tb_frame.f_locals["total"].requires_grad
