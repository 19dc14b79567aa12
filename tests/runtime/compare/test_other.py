"""The command in another precision and in another tree."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from stablelint.runtime.compare.command import CommandFailedError, Setup
from stablelint.runtime.compare.other import against_device, against_dtype, against_tree
from stablelint.runtime.compare.outcome import Comparison
from stablelint.runtime.compare.session import Session

HEAD = "import torch, torch.nn as nn, torch.nn.functional as F\ntorch.manual_seed(0)\n"
TRAIN = """
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(16, 6)
for step in range(3):
    optimizer.zero_grad()
    h = model(x)
    loss = F.mse_loss(h, torch.ones(16, 1))
    loss.backward()
    optimizer.step()
"""


def setup(folder: Path, program: str) -> tuple[Session, Setup]:
    (folder / "train.py").write_text(HEAD + program)
    return Session(folder / "runs"), Setup(("python", "train.py"), "the command")


def first(found: Comparison) -> tuple[str, str, str]:
    assert found.difference is not None
    assert found.cause is not None
    side = found.difference.first or found.difference.second
    assert side is not None
    return str(found.difference.kind), found.cause.name, side.expression


def test_training_that_survives_another_precision_is_the_same(quick: Path) -> None:
    found = against_dtype(*setup(quick, TRAIN), "bfloat16")
    assert found.same, found.difference
    assert found.chain


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = torch.full((4, 64), 40.0)\ny = x @ x.T\n", ("nonfinite", "overflow", "x @ x.T")),
        ("x = torch.full((4, 4), 1e-5)\ny = x @ x\n", ("underflow", "underflow", "x @ x")),
        (
            "w = (1 + 1e-3 * torch.rand(4, 4)).requires_grad_()\nh = w @ torch.full((4, 4), 1000.0)\n"
            "loss = (h - h.mean(0)).pow(2).sum()\nloss.backward()\n",
            ("growth", "cancellation", "h - h.mean(0)"),
        ),
    ],
    ids=["overflow", "underflow", "cancellation"],
)
def test_half_precision_is_told_where_it_fails(
    quick: Path, program: str, expected: tuple[str, str, str]
) -> None:
    found = against_dtype(*setup(quick, program), "float16" if expected[0] != "growth" else "bfloat16")
    assert first(found) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("h = model(x)", "h = model(x) * 1.01", ("path", "code", "model(x) * 1.01")),
        ("lr=0.05", "lr=0.06", ("number", "number", "optimizer.step()")),
        ("torch.ones(16, 1)", "torch.zeros(16, 1)", ("path", "code", "torch.ones(16, 1)")),
        ("nn.Linear(8, 1)", "nn.Linear(8, 1, bias=False)", ("path", "code", "nn.Linear(8, 1)")),
    ],
)
def test_another_tree_is_told_where_it_computes_something_else(
    quick: Path, tmp_path: Path, old: str, new: str, expected: tuple[str, str, str]
) -> None:
    session, here = setup(quick, TRAIN)
    there = tmp_path / "other"
    there.mkdir()
    (there / "train.py").write_text(HEAD + TRAIN.replace(old, new))
    assert first(against_tree(session, here, there)) == expected


def test_a_refactoring_is_the_same(quick: Path, tmp_path: Path) -> None:
    session, here = setup(quick, TRAIN)
    there = tmp_path / "other"
    there.mkdir()
    moved = TRAIN.replace("    h = model(x)\n", "    unused = x.norm()\n    h = model.forward(x)\n")
    (there / "train.py").write_text(HEAD + "# moved\n" + moved)
    assert against_tree(session, here, there).same


def test_a_device_that_is_not_there_is_one_message(quick: Path) -> None:
    with pytest.raises(CommandFailedError, match="no device nowhere"):
        against_device(*setup(quick, TRAIN), "nowhere")


def test_a_device_is_the_default_of_the_second_run(quick: Path) -> None:
    found = against_device(*setup(quick, TRAIN), "cpu")
    assert found.same, found.difference
    assert [run.label for run in found.runs] == ["cpu", "cpu"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_agrees_within_rounding(quick: Path) -> None:
    assert against_device(*setup(quick, TRAIN), "cuda").same
