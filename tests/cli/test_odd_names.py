"""Files and folders whose names are no UTF-8: every report names them, and what is written can be read again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import BAD, Run
from stablelint.config import OUTPUT_FORMATS

ODD = os.fsdecode(b"r\xe9seau")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this file system takes no such names")


@pytest.fixture
def odd(project: Path) -> Path:
    """The folder `ODD` beside the project's own file, with a file `ODD.py` in it."""
    (project / "bad.py").unlink()
    (project / ODD).mkdir()
    (project / ODD / f"{ODD}.py").write_text(BAD)
    return project / ODD


@pytest.mark.parametrize("style", OUTPUT_FORMATS)
def test_every_format_names_the_file(run: Run, odd: Path, style: str) -> None:
    outcome = run("check", "--output-format", style, "--output-file", "report")
    assert (outcome.code, outcome.err) == (1, "")
    report = Path("report").read_text(encoding="utf-8")
    name = "r%E9seau/r%E9seau.py" if style == "sarif" else r"r\udce9seau/r\udce9seau.py"
    assert name in report
    if style in ("json", "sarif", "gitlab"):
        assert json.loads(report)


@pytest.mark.parametrize("style", ["full", "concise"])
def test_a_name_cannot_drive_the_terminal(run: Run, project: Path, style: str) -> None:
    (project / "bad.py").rename(project / "a\x1b[2J\nb.py")
    outcome = run("check", "--output-format", style)
    assert r"a\x1b[2J\nb.py:7:12" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err


@pytest.mark.parametrize("name", [f"{ODD}.py", "two\nlines.py", 'a "b" \\c.py', "tab\t.py", "réseau 1.py"])
def test_git_applies_the_diff(spawn: Run, project: Path, name: str) -> None:
    (project / "bad.py").rename(project / name)
    diff = spawn("fix", "--diff").out
    subprocess.run(["git", "apply"], input=diff, text=True, check=True, cwd=project)
    assert "log_softmax" in (project / name).read_text()


def test_the_settings_may_stand_in_such_a_folder(
    run: Run, odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (odd / "pyproject.toml").write_text("[tool.stablelint]\n")
    monkeypatch.chdir(odd)
    assert [run("check").code, run("check").code] == [1, 1], "with an empty cache, and with a full one"


def test_a_baseline_knows_the_file_again(run: Run, odd: Path) -> None:
    outcome = run("check", "--write-baseline", "known.json")
    assert (outcome.code, outcome.err) == (0, "Recorded 1 finding in known.json.\n")
    assert run("check", "--baseline", "known.json").code == 0
    (odd / "more.py").write_text(BAD)
    assert run("check", "--baseline", "known.json").code == 1


def test_the_file_is_fixed(spawn: Run, odd: Path) -> None:
    assert spawn("fix", "--diff").code == 1
    assert spawn("fix", "--apply").code == 0
    assert "log_softmax" in (odd / f"{ODD}.py").read_text()
