"""The hooks at the tag of their release, tried with the real pre-commit on a real repository."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablelint import __version__

ROOT = Path(__file__).parent.parent
BAD = """\
import torch
import torch.nn.functional as F


def surprise(logits):
    return torch.log(F.softmax(logits, dim=-1))
"""

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="hooks are installed from a repository")


def call(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "safe.directory=*")
    done = call(folder, "git", *identity, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_bad_commit_fails_is_fixed_and_passes(tmp_path: Path) -> None:
    released = tmp_path / "released"
    git(tmp_path, "clone", "-q", str(ROOT), str(released))
    git(released, "tag", f"v{__version__}")
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {released}\n  rev: v{__version__}\n  hooks:\n  - id: stablelint\n  - id: stablelint-fix\n"
    )
    (repository / "loss.py").write_text(BAD)
    git(repository, "add", ".")
    home = str(tmp_path / "pre-commit")

    def hook(*names: str) -> subprocess.CompletedProcess[str]:
        return call(
            repository, sys.executable, "-m", "pre_commit", "run", *names, "--all-files", PRE_COMMIT_HOME=home
        )

    failed = hook("stablelint")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "loss.py:6:12" in failed.stdout
    assert not list((tmp_path / "pre-commit").glob("repo*/py_env*/lib/*/site-packages/torch"))
    fixing = hook("stablelint-fix")
    assert fixing.returncode == 1
    assert "files were modified by this hook" in fixing.stdout
    assert "log_softmax(logits, dim=-1)" in (repository / "loss.py").read_text()
    both = hook()
    assert both.returncode == 0, both.stdout
    assert both.stdout.count("Passed") == 2
