"""From the first `verify` to the applied fix, and what is left when the command is cut short: real processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify runs code")

STABLELINT = [sys.executable, "-c", "import sys; from stablelint.cli.main import main; sys.exit(main())"]
PROGRAM = """\
import torch

torch.set_num_threads(1)


def nll(logits):
    probability = torch.softmax(logits, dim=-1)
    return -torch.log(probability).mean()


def unused(logits):
    return torch.log(torch.softmax(logits * 2.0, dim=-1))


weight = torch.zeros(1, requires_grad=True)
for step in range(3):
    nll(torch.tensor([[0.0, 200.0 * step]]) + weight).backward()
"""
FIXED = """\
def nll(logits):
    return -torch.log_softmax(logits, dim=-1).mean()
"""
ENDLESS = PROGRAM.replace("range(3)", "range(10**9)").replace("200.0 * step", "200.0") + (
    "    if step == 20:\n        open('ready', 'w').close()\n"
)


def _folder(path: Path, program: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (path / "train.py").write_text(program, encoding="utf-8")
    return path


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STABLELINT, *words], cwd=folder, capture_output=True, text=True, check=False)


def _verdicts(output: str) -> dict[int, str]:
    return {site["location"]["row"]: site["verdict"] for site in json.loads(output)["sites"]}


def _verify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = ["--no-cache", "--search", "0", "--output-format", "json", *words]
    return _run(folder, "verify", "train.py", *options, "--", "train.py")


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = _folder(tmp_path_factory.mktemp("proved"), PROGRAM)
    done = _verify(folder, "--emit-tests", "regression")
    shutil.copytree(folder / ".stablelint", folder / "evidence")
    return folder, done


def test_from_the_proof_to_the_fix(proved: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = proved
    assert done.returncode == 0, done.stderr
    assert _verdicts(done.stdout) == {8: "confirmed", 12: "not-reached"}
    (test,) = sorted((folder / "regression").glob("test_*.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    before = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert before.returncode == 1, before.stdout

    edited = PROGRAM.replace("return -torch", "scale = 1.0\n    return -scale * torch")
    (folder / "train.py").write_text(edited, encoding="utf-8")
    assert "Nothing to fix." in _run(folder, "fix", "train.py", "--verified", "--no-cache").stdout
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")

    fixed = _run(folder, "fix", "train.py", "--apply", "--verified", "--no-cache")
    assert "Fixed 1 finding" in fixed.stdout, fixed.stdout + fixed.stderr
    text = (folder / "train.py").read_text(encoding="utf-8")
    assert FIXED in text
    assert "torch.log(torch.softmax(logits * 2.0, dim=-1))" in text, "nobody has seen that one fail"
    after = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert after.returncode == 0, after.stdout


def test_a_second_verification_runs_only_what_is_not_settled(
    proved: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder = _folder(tmp_path / "again", PROGRAM)
    shutil.copytree(proved[0] / "evidence", folder / ".stablelint")
    known = json.loads(_verify(folder, "--no-rerun").stdout)["sites"]
    notes = {site["location"]["row"]: site["notes"] for site in known}
    assert notes == {8: ["known from an earlier run; --again verifies it anew"], 12: []}
    (folder / "train.py").write_text(PROGRAM.replace(".mean()", ".sum()"), encoding="utf-8")
    (edited,) = (
        site
        for site in json.loads(_verify(folder, "--no-rerun").stdout)["sites"]
        if site["location"]["row"] == 8
    )
    assert edited["verdict"] == "confirmed"
    assert edited["captured"]["calls"] == 3, "an edited function is verified anew"


def test_an_interrupt_keeps_what_was_found(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "interrupted", ENDLESS)
    words = ["verify", "train.py", "--no-cache", "--search", "0", "--output-format", "json", "--", "train.py"]
    with subprocess.Popen(
        [*STABLELINT, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (folder / "ready").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert process.returncode == 2
    assert "interrupted; sites reached until then count" in errors
    assert "internal error" not in errors
    assert _verdicts(output) == {8: "confirmed", 12: "not-reached"}
    assert json.loads(output)["sites"][0]["captured"]["calls"] >= 20
    assert (folder / ".stablelint" / "verdicts.json").exists()


def test_a_time_out_keeps_what_was_found(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "endless", ENDLESS)
    for seconds in ("10", "40", "160"):  # a busy machine may need that long to import torch
        done = _verify(folder, "--timeout", seconds, "-q")
        assert done.returncode == 2
        assert f"the command was stopped after {seconds} s; sites reached until then count" in done.stderr
        if (folder / "ready").exists():
            break
    assert _verdicts(done.stdout) == {8: "confirmed", 12: "not-reached"}
