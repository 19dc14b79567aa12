import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import BAD, Run
from stablelint import __version__
from stablelint.cli import main as main_module
from stablelint.cli.main import command, command_names


def test_commands_are_found_by_walking() -> None:
    assert {"check", "fix", "rule", "rules"} <= set(command_names())
    for name in command_names():
        assert name == command(name).NAME
        assert command(name).HELP


def test_help_names_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    assert all(f"    {name} " in outcome.out for name in command_names())


def test_version(run: Run) -> None:
    assert run("--version").out == f"stablelint {__version__}\n"


def test_an_unknown_command_or_option_exits_with_2(run: Run) -> None:
    outcome = run("chekc")
    assert outcome.code == 2
    assert outcome.err == 'error: there is no command "chekc"\n  = help: did you mean `stablelint check`?\n'
    assert "= help: did you mean `stablelint check .`?" in run(".").err
    for given, says, hint in (
        (
            ["check", "--no-such-option"],
            'unknown option "--no-such-option"',
            "`stablelint check --help` lists",
        ),
        (["check", "--slect=SL1"], 'unknown option "--slect"', "did you mean `--select`?"),
        (["check", "--level", "all"], "--level: invalid choice: 'all'", "`stablelint check --help` lists"),
        (["rule", "SL101", "SL102"], 'unknown argument "SL102"', "`stablelint rule --help` lists"),
        (["rules", "tset"], "invalid choice: 'tset'", "`stablelint rules --help` lists"),
        (["--no-such-option"], 'unknown option "--no-such-option"', "`stablelint --help` lists"),
    ):
        outcome = run(*given)
        assert (outcome.code, outcome.out) == (2, "")
        first, second = outcome.err.splitlines()
        assert first.startswith("error: ")
        assert says in first
        assert second.startswith(f"  = help: {hint}")
    assert run("check", "--jobs", "0").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_scripts(run: Run, shell: str) -> None:
    outcome = run("--print-completion", shell)
    assert outcome.code == 0
    assert "per-file-ignores" in outcome.out


def test_completion_of_bash_is_a_script_that_bash_reads(run: Run) -> None:
    done = subprocess.run(["bash", "-n"], input=run("--print-completion", "bash").out, text=True, check=False)
    assert done.returncode == 0


def test_an_error_of_the_program_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: list[str]) -> int:
        raise ValueError("broken")

    monkeypatch.setattr(main_module, "_run", fail)
    monkeypatch.delenv("STABLELINT_TRACEBACK", raising=False)
    outcome = run("check")
    assert outcome.code == 2
    assert outcome.err.startswith("error: internal error: ValueError: broken\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only there is a device that is always full")
def test_an_output_that_takes_nothing_is_said(project: Path) -> None:
    command = [sys.executable, "-m", "stablelint", "check"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&-"])
def test_closed_streams_change_nothing(project: Path, closed: str) -> None:
    shell = f"{sys.executable} -m stablelint check bad.py {closed}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "internal error" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_folder_that_is_gone_is_said(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    gone = tmp_path_factory.mktemp("gone")
    shell = f"cd {gone} && rmdir {gone} && {sys.executable} -P -m stablelint check {project}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("error: the current folder is gone, or cannot be read\n")


def test_an_interrupt_leaves_nothing_behind(project: Path) -> None:
    for number in range(60):
        (project / f"f{number}.py").write_text(BAD * 8)
    process = subprocess.Popen(
        [sys.executable, "-m", "stablelint", "check", "-j", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(project.rglob("*.jsonl")) and process.poll() is None:
        time.sleep(0.01)  # till the first answers are in the cache
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode in (1, 130)
    assert not list(project.rglob("*.jsonl.*"))
    again = subprocess.run(
        [sys.executable, "-m", "stablelint", "check", "f0.py"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert again.stderr == ""
