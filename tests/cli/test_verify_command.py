"""`stablelint verify` from the command line."""

import json
from pathlib import Path

import pytest

from cli.conftest import Outcome
from cli.here import run_here

pytest.importorskip("torch", reason="verify runs code")
pytestmark = pytest.mark.usefixtures("forked")

PROGRAM = """\
import torch


def nll(logits):
    probability = torch.softmax(logits, dim=-1)
    return -torch.log(probability).mean()


weight = torch.zeros(1, requires_grad=True)
for step in range(3):
    nll(torch.tensor([[0.0, 200.0 * step]]) + weight).backward()
"""


def _verify(folder: Path, *words: str) -> Outcome:
    return run_here(folder, "verify", "--no-cache", "--search", "0", *words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    (folder / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    return folder


def test_without_a_command_calls_are_made(folder: Path) -> None:
    done = _verify(folder, "train.py", "--again", "--output-format", "json")
    assert done.code == 0, done.err
    (site,) = json.loads(done.out)["sites"]
    assert site["verdict"] == "reachable"
    assert site["witness"]["line"].endswith("  # inf")
    assert site["function"]["healthy_line"]


def test_nothing_to_verify_is_said_with_what_was_read(folder: Path) -> None:
    (folder / "clean.py").write_text("import torch\n\nprint('ran')\n", encoding="utf-8")
    done = _verify(folder, "clean.py")
    assert (done.code, done.out) == (0, "Nothing to verify: no findings in 1 file.\n")
    done = _verify(folder, "clean.py", "--", "clean.py")
    assert done.code == 0
    assert "the command was run and watched" in done.out


def test_what_stands_in_notebooks_is_left_out_and_said(folder: Path) -> None:
    cell = {"cell_type": "code", "source": PROGRAM, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "tour.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    done = _verify(folder, "tour.ipynb")
    assert done.code == 0
    assert done.err == "stablelint: leaving out 1 finding in notebooks: only files are verified\n"


def test_an_unknown_command_is_one_clear_message_before_anything_is_done(folder: Path) -> None:
    for word, said in (("no-such-program", "no such command"), ("nosuch.py", "no such file")):
        done = _verify(folder, "train.py", "--again", "--", word)
        assert (done.code, done.out, done.err) == (2, "", f"error: {said}: {word}\n")


def test_nothing_is_run_for_paths_of_which_none_can_be_read(folder: Path) -> None:
    (folder / "broken.py").write_text("import torch\nx = (\n", encoding="utf-8")
    for path, said in (("nowhere", "nowhere: no such file or folder"), ("broken.py", "cannot parse")):
        done = _verify(folder, path, "--", "train.py")
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "running" not in done.err


def test_a_script_that_may_not_be_run_is_told_from_one_that_is_not_there(folder: Path) -> None:
    (folder / "train.sh").write_text("python train.py\n", encoding="utf-8")
    done = _verify(folder, "train.py", "--again", "--", "./train.sh")
    assert (done.code, done.out) == (2, "")
    assert "cannot run ./train.sh: it is not executable" in done.err


def test_a_crash_of_the_command_is_said(folder: Path) -> None:
    (folder / "crash.py").write_text(PROGRAM + "\nraise SystemExit(3)\n", encoding="utf-8")
    done = _verify(folder, "crash.py", "--no-rerun", "--", "crash.py")
    assert done.code == 2
    assert "ended with status 3" in done.err
    assert "confirmed" in done.out


def test_a_command_that_loads_no_file_with_a_site_is_run_once(folder: Path) -> None:
    text = "print('started')\nraise SystemExit(1)\nimport train\n"
    (folder / "unready.py").write_text(text, encoding="utf-8")
    done = _verify(folder, "train.py", "--again", "--", "unready.py")
    assert done.code == 2
    assert "ended with status 1 before a file with a site was loaded: nothing was verified" in done.err
    assert done.err.count("started") == 1
    assert "rerun" not in done.out


CONSTRUCTED = """\
import torch

torch.manual_seed(0)
net = torch.nn.Linear(6, 5)
criterion = torch.nn.CTCLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    scores = net(torch.randn(4, 1, 6)).log_softmax(-1)
    loss = criterion(scores, torch.tensor([[1, 1, 2, 2, 3]]), torch.tensor([4]), torch.tensor([5]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_object_is_confirmed_by_the_rerun(folder: Path) -> None:
    (folder / "constructed.py").write_text(CONSTRUCTED, encoding="utf-8")
    done = _verify(folder, "constructed.py", "--output-format", "json", "--", "constructed.py")
    document = json.loads(done.out)
    (site,) = document["sites"]
    assert (site["code"], site["verdict"]) == ("SL308", "confirmed")
    assert "the rerun is finite with this fix, and was not without it" in site["notes"]
    assert document["rerun"]["passed"] is True


MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        x = self.fc(x)
        return torch.sigmoid(x)
"""
LOSS = """\
import torch
from model import Net

torch.manual_seed(0)
model = Net()
loss = -(model(1e4 * torch.randn(16, 8)).log() + torch.log(1 - model(torch.randn(16, 8)))).mean()
loss.backward()
raise SystemExit(not torch.isfinite(loss))
"""


def test_a_fix_over_several_files_is_proved_by_a_command_that_failed_and_no_longer_does(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "loss.py").write_text(LOSS, encoding="utf-8")
    done = _verify(tmp_path, "--", "loss.py")
    assert done.code == 0, done.out
    said = " ".join(done.out.split())
    assert "confirmed (fails on operands of this command; the fix cures it)" in said
    assert "its fix changes several files" in said
    assert "exit status: 1 before, 0 after" in said
    assert "ended with status" not in done.err
    fixed = run_here(tmp_path, "fix", "--no-cache", "--verified", "--apply")
    assert "Fixed 1 finding in 2 files" in fixed.out
    assert """
loss = -(
    torch.nn.functional.logsigmoid(model(1e4 * torch.randn(16, 8)))
    + torch.nn.functional.logsigmoid(-model(torch.randn(16, 8)))
).mean()
""" in (tmp_path / "loss.py").read_text("utf-8")
