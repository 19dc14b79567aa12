"""From the first `verify` to the applied fix, and what is left when the command is cut short: real processes."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import Outcome
from cli.here import run_here
from tests.forks import Servers

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
    "    __import__('time').sleep(0.005)\n    if step == 20:\n        open('ready', 'w').close()\n"
)


def _folder(path: Path, program: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (path / "train.py").write_text(program, encoding="utf-8")
    return path


def _verdicts(output: str) -> dict[int, str]:
    return {site["location"]["row"]: site["verdict"] for site in json.loads(output)["sites"]}


def _verify(folder: Path, *words: str) -> Outcome:
    return run_here(folder, "verify", "train.py", "--no-cache", "--search", "0", *words)


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> tuple[Path, Outcome]:
    folder = _folder(tmp_path_factory.mktemp("proved"), PROGRAM)
    with servers.running_commands():
        done = _verify(folder, "--output-format", "json", "--emit-tests", "regression", "--", "train.py")
    shutil.copytree(folder / ".stablelint", folder / "evidence")
    return folder, done


def test_a_fix_is_proved_by_the_run_and_the_rerun(proved: tuple[Path, Outcome]) -> None:
    done = proved[1]
    assert done.code == 0, done.err
    assert _verdicts(done.out) == {8: "confirmed", 12: "not-reached"}
    document = json.loads(done.out)
    site, unused = document["sites"]
    assert (site["code"], site["captured"]["calls"]) == ("SL202", 3)
    assert unused["notes"] == []
    assert document["rerun"]["passed"] is True
    assert document["rerun"]["before"]["losses"]["nonfinite_losses"] == 2


def test_from_the_proof_to_the_fix(proved: tuple[Path, Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    folder = proved[0]
    shutil.copytree(folder / "regression", folder / "before" / "regression")
    shutil.copy(folder / "train.py", folder / "before")
    edited = PROGRAM.replace("return -torch", "scale = 1.0\n    return -scale * torch")
    (folder / "train.py").write_text(edited, encoding="utf-8")
    assert "Nothing to fix." in run_here(folder, "fix", "train.py", "--verified", "--no-cache").out
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")

    fixed = run_here(folder, "fix", "train.py", "--apply", "--verified", "--no-cache")
    assert "Fixed 1 finding" in fixed.out, fixed.out + fixed.err
    text = (folder / "train.py").read_text(encoding="utf-8")
    assert FIXED in text
    assert "torch.log(torch.softmax(logits * 2.0, dim=-1))" in text, "nobody has seen that one fail"

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = subprocess.run(
        [*command, "before", "regression"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "FAILED before/regression/test_train_8_sl202.py" in done.stdout
    assert "log_softmax(logits, dim=-1)" in done.stdout


def test_a_second_verification_runs_only_what_is_not_settled(
    proved: tuple[Path, Outcome], tmp_path: Path, forked: None
) -> None:
    folder = _folder(tmp_path / "again", PROGRAM)
    shutil.copytree(proved[0] / "evidence", folder / ".stablelint")
    known = _verify(folder)
    assert "SL202 log-of-softmax: confirmed" in known.out
    assert known.out.count("known from an earlier run; --again verifies it anew") == 1
    assert "replaying 1 site\n" in known.err
    (folder / "train.py").write_text(PROGRAM.replace(".mean()", ".sum()"), encoding="utf-8")
    done = _verify(folder, "--no-rerun", "--output-format", "json", "--", "train.py")
    (edited,) = (site for site in json.loads(done.out)["sites"] if site["location"]["row"] == 8)
    assert edited["verdict"] == "confirmed"
    assert edited["captured"]["calls"] == 3, "an edited function is verified anew"


def test_the_rerun_has_the_fixes_that_are_settled_too(
    proved: tuple[Path, Outcome], tmp_path: Path, forked: None
) -> None:
    folder = _folder(tmp_path / "settled", PROGRAM)
    shutil.copytree(proved[0] / "evidence", folder / ".stablelint")
    done = _verify(folder, "--output-format", "json", "--", "train.py")
    rerun = json.loads(done.out)["rerun"]
    assert (done.code, rerun["passed"], rerun["fixes"]) == (0, True, 2)


def test_a_regression_test_is_written_though_the_verdict_is_known(
    proved: tuple[Path, Outcome], tmp_path: Path, forked: None
) -> None:
    folder = _folder(tmp_path / "known", PROGRAM)
    shutil.copytree(proved[0] / "evidence", folder / ".stablelint")
    done = _verify(folder, "--no-rerun", "--emit-tests", "regression", "--", "train.py")
    assert "known from an earlier run" not in done.out
    assert list((folder / "regression").glob("test_train_*_sl202.py"))


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


def test_a_time_out_keeps_what_was_found(tmp_path: Path, forked: None) -> None:
    folder = _folder(tmp_path / "endless", ENDLESS)
    words = ["--no-rerun", "-q", "--output-format", "json"]
    for seconds in ("2", "40"):  # a busy machine may need that long
        done = _verify(folder, "--timeout", seconds, *words, "--", "train.py")
        assert done.code == 2
        assert f"the command was stopped after {seconds} s; sites reached until then count" in done.err
        if (folder / "ready").exists():
            break
    assert _verdicts(done.out) == {8: "confirmed", 12: "not-reached"}
