import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablelint.runtime.release import installed_too_old, too_old

# A package that stands before torch on the path and is as little of it as an import needs.
OLD = {
    "torch/__init__.py": '__version__ = "2.2.0"\n',
    "torch-2.2.0.dist-info/METADATA": "Name: torch\nVersion: 2.2.0\n",
}


@pytest.mark.parametrize("version", ["2.4.0", "2.4.1+cu121", "2.13.0", "3.0", "2.15.0a0+git1234", "unknown"])
def test_a_release_that_has_what_is_needed_is_taken(version: str) -> None:
    assert too_old(version) is None


@pytest.mark.parametrize("version", ["1.13.1", "2.3.1+cu121", "2.0"])
def test_an_older_one_is_refused_in_a_sentence(version: str) -> None:
    assert too_old(version) == f"torch {version} is too old: stablelint needs 2.4 or newer"


def test_this_interpreter_has_one_that_is_taken() -> None:
    pytest.importorskip("torch")
    assert installed_too_old() is None


@pytest.fixture
def old(tmp_path: Path) -> Path:
    for name, text in OLD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "train.py").write_text("import torch\n\nprint('trained')\n")
    (tmp_path / "test_train.py").write_text("def test_nothing():\n    pass\n")
    return tmp_path


def said(old: Path, *words: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(old), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *words],
        cwd=old,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return done.returncode, done.stdout, done.stderr


def test_verify_does_not_start(old: Path) -> None:
    pytest.importorskip("safetensors")
    code, _, error = said(old, "-m", "stablelint", "verify", "train.py", "--", sys.executable, "train.py")
    assert (code, error) == (2, "error: torch 2.2.0 is too old: stablelint needs 2.4 or newer\n")


def test_a_command_runs_unguarded_and_that_is_said(old: Path) -> None:
    code, out, error = said(old, "-m", "stablelint", "run", "--", sys.executable, "train.py")
    assert (code, out) == (2, "trained\n")
    assert "a process was not guarded: " in error
    assert "torch 2.2.0 is too old: stablelint needs 2.4 or newer" in error
    assert "Traceback" not in error


def test_pytest_refuses_the_option(old: Path) -> None:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--stablelint-guard")
    code, _, error = said(old, *words)
    if "unrecognized arguments" in error:
        code, _, error = said(old, *words, "-p", "stablelint.runtime.pytest_plugin")
    assert code == 4
    assert "torch 2.2.0 is too old" in error
