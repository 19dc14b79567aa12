"""`stablelint verify` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify runs code")

PROGRAM = """\
import torch


def nll(logits):
    probability = torch.softmax(logits, dim=-1)
    return -torch.log(probability).mean()


weight = torch.zeros(1, requires_grad=True)
for step in range(3):
    nll(torch.tensor([[0.0, 200.0 * step]]) + weight).backward()
"""


def _verify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from stablelint.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, "verify", "--no-cache", "--search", "0", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    (folder / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    return folder


def test_a_fix_is_proved_and_then_known(folder: Path) -> None:
    done = _verify(folder, "train.py", "--output-format", "json", "--", "train.py")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (site,) = document["sites"]
    assert (site["code"], site["verdict"]) == ("SL202", "confirmed")
    assert site["captured"]["calls"] == 3
    assert document["rerun"]["passed"] is True
    assert document["rerun"]["before"]["losses"]["nonfinite_losses"] == 2
    again = _verify(folder, "train.py", "--", "train.py")
    assert "SL202 log-of-softmax: confirmed" in again.stdout
    assert "known from an earlier run" in again.stdout


def test_without_a_command_boundary_operands_speak(folder: Path) -> None:
    done = _verify(folder, "train.py", "--again", "--output-format", "json")
    assert done.returncode == 0, done.stderr
    (site,) = json.loads(done.stdout)["sites"]
    assert site["verdict"] == "latent"
    assert "no command was run: boundary operands only" in site["notes"]


def test_an_unknown_command_is_one_clear_message(folder: Path) -> None:
    done = _verify(folder, "train.py", "--again", "--", "no-such-program")
    assert done.returncode == 2
    assert "no such command: no-such-program" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_crash_of_the_command_is_said(folder: Path) -> None:
    (folder / "crash.py").write_text(PROGRAM + "\nraise SystemExit(3)\n", encoding="utf-8")
    done = _verify(folder, "crash.py", "--no-rerun", "--", "crash.py")
    assert done.returncode == 2
    assert "ended with status 3" in done.stderr
    assert "confirmed" in done.stdout
