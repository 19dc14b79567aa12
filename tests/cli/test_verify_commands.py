"""What can stand behind `--`, and fixes that are no rewrite of one expression."""

import json
import sys
from pathlib import Path

import pytest

from cli.here import run_here

pytest.importorskip("torch", reason="verify runs code")

LOSSES = """\
import torch


def nll(logits):
    probability = torch.softmax(logits, dim=-1)
    return -torch.log(probability).mean()
"""
TRAIN = """\
import sys

import torch

from pkg.losses import nll

print("words", *sys.argv[1:], __name__)
nll(torch.tensor([[0.0, 200.0]], requires_grad=True)).backward()
"""
TESTS = """\
import torch

from pkg.losses import nll


def entropy(logits):
    return torch.log(torch.softmax(logits, dim=-1)).sum()


def test_nll():
    assert nll(torch.tensor([[0.0, 200.0]], requires_grad=True)).ndim == 0


def test_entropy():
    assert entropy(torch.tensor([[0.0, 300.0]], requires_grad=True)).ndim == 0
"""
LOOP = """\
import torch
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(8, 4)).float().pow(2).mean()
    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
INTERFACE = """\
import torch
import torch.nn.functional as F

logits = torch.tensor([[3.0, -1.0, 0.5], [0.0, 2.0, 1.0]], requires_grad=True)
F.cross_entropy(torch.softmax(logits, dim=-1), torch.tensor([0, 1])).backward()
"""


def _project(folder: Path, **files: str) -> Path:
    (folder / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _verify(folder: Path, words: list[str], command: list[str]) -> tuple[dict[str, object], str]:
    options = ["--no-cache", "--search", "0", "--output-format", "json", *words]
    done = run_here(folder, "verify", *options, "--", *command)
    assert done.code == 0, done.err
    document: dict[str, object] = json.loads(done.out)
    return document, done.err


def _verdicts(document: dict[str, object]) -> dict[tuple[str, int], str]:
    sites = document["sites"]
    assert isinstance(sites, list)
    return {(Path(s["filename"]).name, s["location"]["row"]): s["verdict"] for s in sites}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    return _project(folder, pkg__losses=LOSSES, pkg__train=TRAIN, tests__test_losses=TESTS)


def test_a_module_of_a_package_is_a_command(package: Path, forked: None) -> None:
    document, errors = _verify(package, ["pkg"], ["-m", "pkg.train", "--a", "b c"])
    assert "words --a b c __main__" in errors
    assert _verdicts(document) == {("losses.py", 6): "confirmed"}
    assert document["rerun"]["passed"] is True  # type: ignore[index]


def test_a_test_suite_is_a_command_and_may_hold_sites_itself(package: Path, forked: None) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    document, errors = _verify(
        package, ["pkg", "tests", "--level", "possible", "--no-rerun", "--again"], command
    )
    assert "2 passed" in errors
    assert _verdicts(document) == {("losses.py", 6): "confirmed", ("test_losses.py", 7): "confirmed"}


def test_an_order_of_calls_is_proved_by_the_rerun_and_then_written(tmp_path: Path, forked: None) -> None:
    folder = _project(tmp_path, train=LOOP)
    document, _ = _verify(folder, ["train.py", "--select", "SL406"], ["train.py"])
    assert _verdicts(document) == {("train.py", 14): "confirmed"}
    (site,) = document["sites"]  # type: ignore[misc]
    assert document["rerun"]["before"]["losses"]["steps"] == 3  # type: ignore[index]
    assert site["notes"][-1] == "order of calls before: clip-before-unscale; after: in order"
    run_here(folder, "fix", "train.py", "--select", "SL406", "--apply", "--verified", "--no-cache")
    lines = (folder / "train.py").read_text(encoding="utf-8").splitlines()
    assert lines[13:15] == ["    scaler.unscale_(optimizer)", "    clip_grad_norm_(model.parameters(), 1.0)"]


def test_a_loss_that_is_fed_the_wrong_thing_is_proved_by_its_value(tmp_path: Path, forked: None) -> None:
    folder = _project(tmp_path, train=INTERFACE)
    document, _ = _verify(folder, ["train.py", "--select", "SL301"], ["train.py"])
    (site,) = document["sites"]  # type: ignore[misc]
    assert (site["verdict"], site["witness"]["failed"]) == ("confirmed", "wrong")


def test_another_environments_command_is_named_where_it_reaches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _project(tmp_path, train=INTERFACE)
    other = tmp_path / "bin" / "pytest"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    done = run_here(folder, "verify", "train.py", "--no-cache", "--no-rerun", "--", "pytest")
    assert done.code == 2
    assert "the command ended with status 1" in done.err
    assert f"`pytest` is {other}; that of this environment is " in done.err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_out_is_a_number_of_seconds(tmp_path: Path, seconds: str) -> None:
    done = run_here(
        _project(tmp_path, train=INTERFACE), "verify", "train.py", f"--timeout={seconds}", "--", "train.py"
    )
    assert done.code == 2
    assert f"not a number of seconds above 0: {seconds}" in done.err
