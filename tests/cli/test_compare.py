"""`stablelint compare`: two files, a command, and what cannot be compared."""

import json
import sys
from pathlib import Path

import pytest

from cli.conftest import Outcome
from cli.here import run_here

torch = pytest.importorskip("torch")

PROGRAM = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("done")
"""


def compare(*arguments: str, folder: Path) -> Outcome:
    return run_here(folder, "compare", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    torch.save({"w": torch.ones(2, 3), "step": 1}, tmp_path / "a.pt")
    torch.save({"w": torch.ones(2, 3) * 1.5, "step": 1}, tmp_path / "b.pt")
    return tmp_path


def test_two_files(files: Path) -> None:
    done = compare("a.pt", "b.pt", "--html", "page.html", folder=files)
    assert done.code == 1
    assert "different: a.pt and b.pt: 1 of 2 values apart" in done.out
    assert "6 (100.0%)" in done.out
    assert "<table>" in (files / "page.html").read_text()
    same = compare("a.pt", "b.pt", "--rtol", "1", "--quiet", folder=files)
    assert (same.code, same.out) == (0, "")


def test_two_files_as_json(files: Path) -> None:
    report = json.loads(compare("a.pt", "b.pt", "--output-format", "json", folder=files).out)
    assert (report["kind"], report["same"]) == ("tensors", False)
    assert report["tensors"][0]["absolute"]["error"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to compare"),
        (("a.pt",), "nothing to compare"),
        (("a.pt", "b.pt", "--", "python", "x.py"), "not both"),
        (("a.pt", "gone.pt"), "cannot read gone.pt"),
        (("--", "no-such-command"), "no such command"),
        (("--steps", "3:1", "--", "python"), "not a range of steps"),
        (("--rtol", "-1", "a.pt", "b.pt"), "not a tolerance"),
        (("--modules", "--dtype", "bfloat16", "--", "python", "x.py"), "--modules is for"),
    ],
)
def test_what_cannot_be_compared_is_one_message(
    files: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = compare(*arguments, folder=files)
    assert done.code == 2
    assert message in done.err


def test_a_command_that_does_not_repeat_itself(tmp_path: Path, forked: None) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    options = ("--steps", "0:2", "--output-format", "json", "--html", "page.html", "--keep", "kept")
    done = compare(*options, "--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 1, done.err
    report = json.loads(done.out)
    assert report["difference"]["first"]["expression"] == "torch.nn.Linear(4, 4)"
    assert report["difference"]["first"]["location"] == {"row": 3, "column": 9}
    assert report["cause"]["name"] == "seed"
    assert report["runs"][0]["steps"] == 2
    page = (tmp_path / "page.html").read_text()
    assert "<mark>torch.nn.Linear(4, 4)</mark>" in page
    assert "Loss:" in page
    assert list(tmp_path.glob("kept/*/run-1/trace-*.jsonl"))


def test_a_command_that_fails(tmp_path: Path, forked: None) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.ones(2)\nraise SystemExit('no data')\n")
    done = compare("--", sys.executable, "train.py", folder=tmp_path)
    assert done.code == 2
    assert "the command: failed with exit code" in done.err
    assert "no data" in done.err
