"""`stablelint compare` as a process: two files, a command, and what cannot be compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def compare(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stablelint", "compare", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    torch.save({"w": torch.ones(2, 3), "step": 1}, tmp_path / "a.pt")
    torch.save({"w": torch.ones(2, 3) * 1.5, "step": 1}, tmp_path / "b.pt")
    return tmp_path


def test_two_files(files: Path) -> None:
    done = compare("a.pt", "b.pt", "--html", "page.html", folder=files)
    assert done.returncode == 1
    assert "different: a.pt and b.pt: 1 of 2 values apart" in done.stdout
    assert "6 (100.0%)" in done.stdout
    assert "<table>" in (files / "page.html").read_text()
    same = compare("a.pt", "b.pt", "--rtol", "1", "--quiet", folder=files)
    assert (same.returncode, same.stdout) == (0, "")


def test_two_files_as_json(files: Path) -> None:
    report = json.loads(compare("a.pt", "b.pt", "--output-format", "json", folder=files).stdout)
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
    ],
)
def test_what_cannot_be_compared_is_one_message(
    files: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = compare(*arguments, folder=files)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_that_does_not_repeat_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    options = ("--steps", "0:2", "--output-format", "json", "--html", "page.html", "--keep", "kept")
    done = compare(*options, "--", sys.executable, "train.py", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["difference"]["first"]["expression"] == "torch.nn.Linear(4, 4)"
    assert report["difference"]["first"]["location"] == {"row": 3, "column": 9}
    assert report["cause"]["name"] == "seed"
    assert report["runs"][0]["steps"] == 2
    page = (tmp_path / "page.html").read_text()
    assert "<mark>torch.nn.Linear(4, 4)</mark>" in page
    assert "Loss:" in page
    assert list(tmp_path.glob("kept/*/run-1/trace-*.jsonl"))


def test_a_command_that_fails(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.ones(2)\nraise ValueError('no data')\n")
    done = compare("--", sys.executable, "train.py", folder=tmp_path)
    assert done.returncode == 2
    assert "the command failed" in done.stderr
    assert "ValueError: no data" in done.stderr
