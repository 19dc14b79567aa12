import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from stablelint.cli.main import main

BAD = """\
import torch
import torch.nn.functional as F


def entropy(logits):
    p = F.softmax(logits, dim=-1)
    return torch.log(p)
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file that has one finding, SL202 at 7:12, and is the working directory."""
    for name in ("NO_COLOR", "FORCE_COLOR", "STABLELINT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process, in the project's folder."""

    def run(*arguments: str) -> Outcome:
        try:
            code = main(arguments)
        except SystemExit as error:
            code = int(error.code or 0)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def spawn(project: Path) -> Run:
    """Runs a command line as a process of its own, in the project's folder."""

    def spawn(*arguments: str, stdin: str = "") -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "stablelint", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return spawn
