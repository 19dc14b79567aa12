"""The action, run as a workflow runs it: on a checkout of a repository, from the tag that the workflow names."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from report.sarif_shape import faults

from stablelint import __version__

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parent.parent
FAULTY = "import torch\n\n\ndef f(x):\n    return torch.log(torch.softmax(x, -1))\n"

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an action is taken from a repository")


class Runner:
    """As much of a workflow's machine as our workflows ask for: git, one Python, `inputs` and `env`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._checkouts = 0
        self._installed: set[Path] = set()
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
        programs = folder / "python" / ("Scripts" if os.name == "nt" else "bin")
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        self._released = folder / "released"
        self.run(folder, "git", "clone", "-q", str(ROOT), str(self._released))
        self.run(self._released, "git", "tag", f"v{__version__}")

    def run(
        self, folder: Path, *command: str, check: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=folder,
            env=self._environment | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def repository(self, name: str, files: Mapping[str, str]) -> Path:
        """A new one with one commit."""
        folder = self.folder / name
        folder.mkdir()
        self.run(folder, "git", "init", "-q")
        self.commit(folder, files)
        return folder

    def commit(self, repository: Path, files: Mapping[str, str]) -> None:
        """Commits all that is there, and these files."""
        for path, text in files.items():
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_text(text)
        self.run(repository, "git", "add", ".")
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        self.run(repository, "git", *identity, "commit", "-qm", "work")

    def job(self, repository: Path, workflow: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        """Runs the one job of a workflow; the checkout, and how the last step that ran has ended."""
        [job] = yaml.safe_load((repository / workflow).read_text("utf-8"))["jobs"].values()
        self._checkouts += 1
        workspace = self.folder / f"checkout-{self._checkouts}"
        for step in job["steps"]:
            name, _, version = step["uses"].partition("@")
            if name == "actions/checkout":
                self.run(self.folder, "git", "clone", "-q", str(repository), str(workspace))
                continue
            assert name == "stablelint/stablelint"
            action = self.folder / f"action-{version}"
            if not action.exists():
                self.run(
                    self.folder, "git", "clone", "-q", "--branch", version, str(self._released), str(action)
                )
            for done in self._composite(action, step.get("with", {}), workspace):
                if done.returncode:
                    break
        return workspace, done

    def _composite(
        self, action: Path, given: Mapping[str, str], workspace: Path
    ) -> Iterator[subprocess.CompletedProcess[str]]:
        known = yaml.safe_load((action / "action.yml").read_text("utf-8"))
        assert known["runs"]["using"] == "composite"
        assert given.keys() <= known["inputs"].keys()
        inputs = {name: item["default"] for name, item in known["inputs"].items()} | dict(given)
        for step in known["runs"]["steps"]:
            if step.get("uses", "").startswith("actions/setup-python@"):
                continue  # this environment's Python stands for it
            if step["name"] == "Install" and action in self._installed:
                continue  # a later job finds it there
            self._installed.add(action)
            assert step["shell"] == "bash"
            environment = {name: _filled(value, inputs) for name, value in step.get("env", {}).items()}
            yield self.run(
                workspace, "bash", "-eo", "pipefail", "-c", step["run"],
                check=False, GITHUB_ACTION_PATH=str(action), **environment,
            )  # fmt: skip


def _filled(text: str, inputs: Mapping[str, Any]) -> str:
    """The value of a text with expressions, of which nothing but inputs is known."""
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: str(inputs[match[1]]), text)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("runner"))


def test_the_workflow_that_init_writes_annotates_a_faulty_commit_and_passes_once_it_is_fixed(
    runner: Runner,
) -> None:
    workflow = ".github/workflows/stablelint.yml"
    project = runner.repository("project", {"README": "a project"})
    runner.run(project, sys.executable, "-m", "stablelint", "init", "--yes")
    runner.commit(project, {"a file.py": FAULTY})
    _, failed = runner.job(project, workflow)
    assert failed.returncode == 1, failed.stderr
    assert "::error" in failed.stdout
    assert "file=a file.py,line=5" in failed.stdout
    runner.commit(project, {"a file.py": FAULTY.replace("torch.softmax(x, -1)", "x.abs() + 2")})
    _, passed = runner.job(project, workflow)
    assert passed.returncode == 0, passed.stdout + passed.stderr


def test_what_a_workflow_asks_of_the_action_reaches_the_command(runner: Runner) -> None:
    """The report is left as SARIF, for a step that uploads it, and only one of two folders is looked at."""
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    steps = next(block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "sarif" in block)
    project = runner.repository("uploading", {"src/loss.py": FAULTY, "tests/test_loss.py": FAULTY})
    ours = [line for line in steps.split("- uses: github/")[0].splitlines() if line]
    (project / "job.yml").write_text("jobs:\n  one:\n    steps:\n" + "".join(f"      {x}\n" for x in ours))
    workspace, done = runner.job(project, "job.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((workspace / "stablelint.sarif").read_text("utf-8"))
    assert list(faults(report)) == []
    [found] = report["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/loss.py"
