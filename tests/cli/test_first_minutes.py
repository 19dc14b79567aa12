"""What a person meets first: `stablelint` alone, `init`, `--watch`, `--explain`."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import BAD, Run
from stablelint.cli.setup_files import with_hook

HOOK = """\
- repo: https://github.com/stablelint/stablelint
  rev: v0.1.0
  hooks:
    - id: stablelint
"""


def test_alone_it_says_what_to_do_here(run: Run, project: Path) -> None:
    said = run().out
    assert "Here 1 file uses torch, with no settings yet. Begin with stablelint check." in said
    assert max(map(len, said.splitlines())) <= 80, "a narrow terminal breaks no line"
    (project / "pyproject.toml").write_text("[tool.stablelint]\n")
    assert "with settings in pyproject.toml" in run().out
    (project / "bad.py").write_text("print(1)\n")
    assert "Here none of 1 Python file imports torch: name a folder" in run().out
    notebook = {"cells": [{"cell_type": "code", "source": ["import torch\n"]}], "metadata": {}, "nbformat": 4}
    (project / "tour.ipynb").write_text(json.dumps(notebook | {"nbformat_minor": 5}))
    assert "Here 1 file uses torch" in run().out
    (project / "pyproject.toml").write_text("[tool.stablelint]\nx = 1\n")
    assert 'The settings cannot be used: unknown key "x"' in run().out


def test_init_shows_everything_and_writes_nothing_unasked(run: Run, project: Path) -> None:
    outcome = run("init")
    assert outcome.code == 0
    assert "+[tool.stablelint]" in outcome.out
    assert "    - id: stablelint" in outcome.out
    assert "Nothing was written." in outcome.out
    assert {path.name for path in project.iterdir()} <= {".git", "bad.py", ".stablelint_cache"}


def test_after_init_only_new_findings_fail(run: Run, project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "x"')
    assert run("init", "--yes").code == 0
    assert (
        (project / "pyproject.toml")
        .read_text()
        .startswith('[project]\nname = "x"\n\n[tool.stablelint]\nbaseline')
    )
    assert (project / ".github" / "workflows" / "stablelint.yml").exists()
    assert run("check").code == 0
    (project / "new.py").write_text(BAD)
    assert run("check").code == 1
    before = {
        path: path.read_bytes() for path in project.rglob("*") if path.suffix in (".toml", ".yaml", ".yml")
    }
    assert "The project is set up already." in run("init", "--yes").out
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "repos:\n" + "".join(f"  {line}\n" for line in HOOK.splitlines())),
        ("repos: []\n", "repos:\n" + "".join(f"  {line}\n" for line in HOOK.splitlines())),
        (
            "repos:\n- repo: a\n  hooks:\n  - id: b\n\nci:\n  x: 1\n",
            f"repos:\n- repo: a\n  hooks:\n  - id: b\n{HOOK}\nci:\n  x: 1\n",
        ),
        (
            "# mine\nrepos:\n    - repo: a\n      hooks: [{id: b}]",
            "# mine\nrepos:\n    - repo: a\n      hooks: [{id: b}]\n"
            + "".join(f"    {x}\n" for x in HOOK.splitlines()),
        ),
    ],
    ids=["no file", "an empty list", "more below", "no line end"],
)
def test_the_hook_joins_those_that_are_there(before: str, after: str) -> None:
    assert with_hook(before) == after


def test_init_refuses_what_it_cannot_read(run: Run, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.stablelint\n")
    outcome = run("init", "--yes")
    assert outcome.code == 2
    assert "pyproject.toml:1:" in outcome.err
    assert (project / "pyproject.toml").read_text() == "[tool.stablelint\n"
    assert run("init", "nowhere").code == 2
    (project / "pyproject.toml").unlink()
    (project / "loss.py").write_text("import torch\ndef f(:\n")
    outcome = run("init", "--yes")
    assert outcome.code == 2
    assert "loss.py:2:7" in outcome.err
    assert (project / "pyproject.toml").exists()


def test_init_keeps_line_ends(run: Run, project: Path) -> None:
    (project / "pyproject.toml").write_bytes(b'[project]\r\nname = "x"\r\n')
    assert run("init", "--yes").code == 0
    written = (project / "pyproject.toml").read_bytes()
    assert written.startswith(b'[project]\r\nname = "x"\r\n\r\n[tool.stablelint]\r\n')
    assert written.count(b"\n") == written.count(b"\r\n")


def test_init_loses_nothing_where_the_disk_is_full(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (project / "pyproject.toml").write_text('[project]\nname = "x"\n')
    monkeypatch.setattr(os, "fsync", full)
    outcome = run("init", "--yes")
    assert outcome.code == 2
    assert "error: pyproject.toml: not written: No space left on device" in outcome.err
    assert (project / "pyproject.toml").read_text() == '[project]\nname = "x"\n'
    assert (project / ".pre-commit-config.yaml").exists(), "the others are written"


def test_the_words_of_findings_are_explained_once(run: Run, project: Path) -> None:
    (project / "again.py").write_text(BAD)
    outcome = run("check", "--explain")
    assert outcome.code == 1
    assert outcome.out.count("\nunderflow\n  A result closer to 0") == 1
    assert "\ncancellation\n" not in outcome.out
    assert "underflow\n" not in run("check", "--explain", "--output-format", "concise").out


def test_watching_checks_again_when_a_file_changes(project: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "stablelint",
        "check",
        "--watch",
        "--output-format",
        "concise",
        "--no-cache",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        try:
            assert watching.stdout is not None
            assert "bad.py:7:12: SL202" in watching.stdout.readline()
            assert watching.stdout.readline().startswith("Found 1 likely finding")
            path = project / "bad.py"
            path.write_text("\n" + BAD)
            os.utime(path, ns=(0, 0))
            assert any("bad.py:8:12: SL202" in line for line in watching.stdout)
        finally:
            watching.terminate()


def test_nothing_is_watched_where_no_path_exists(run: Run) -> None:
    outcome = run("check", "--watch", "absent.py")
    assert outcome.code == 2
    assert outcome.err == "error: absent.py: no such file or folder\n"


def test_an_unknown_command_is_answered_with_those_there_are(run: Run) -> None:
    outcome = run("explain", "SL101")
    assert outcome.code == 2
    assert 'there is no command "explain"' in outcome.err
    assert "the commands are audit, check, " in outcome.err
