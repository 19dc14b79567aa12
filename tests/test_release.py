"""One version everywhere, and an action that does what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stablelint import __version__

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "packaging/conda/recipe.yaml"
FAULTY = "import torch\n\n\ndef f(x):\n    return torch.log(torch.softmax(x, -1))\n"


def test_the_version_stands_in_one_place_and_is_quoted_right() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "stablelint/__init__.py"
    assert json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))["version"] == __version__
    assert f'version: "{__version__}"' in RECIPE.read_text("utf-8")
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    for page in (ROOT / "README.md", ROOT / "docs" / "configuration.md"):
        quoted = re.findall(r"(?:rev: |stablelint/stablelint@)v([\d.]+)", page.read_text("utf-8"))
        assert set(quoted) == {__version__}, page


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = RECIPE.read_text("utf-8")
    run = recipe.partition("  run:\n")[2].partition("  run_constraints")[0]
    wanted = {
        f"python {project['requires-python']}",
        *(re.sub(r"(?=>)", " ", text) for text in project["dependencies"]),
    }
    assert set(re.findall(r"- (.+)", run)) == wanted


def test_the_recipe_is_one() -> None:
    builder = pytest.importorskip("rattler_build")
    [variant] = builder.Stage0Recipe.from_file(str(RECIPE)).render()
    assert (variant.recipe.package.name, str(variant.recipe.package.version)) == ("stablelint", __version__)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment, as a workflow's machine has them."""
    folder = tmp_path_factory.mktemp("runner")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.mark.parametrize(("text", "code"), [(FAULTY, 1), ("print(1)\n", 0)])
def test_the_action_installs_itself_annotates_and_fails_where_something_is_found(
    runner: Path, tmp_path: Path, text: str, code: int
) -> None:
    (tmp_path / "a file.py").write_text(text)
    action = (ROOT / "action.yml").read_text("utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PATH": f"{runner}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(ROOT),
        "STABLELINT_PATHS": ".",
        "STABLELINT_ARGS": "--no-cache --select SL2",
        "STABLELINT_FORMAT": "github",
    }
    install, check = (
        subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for script in re.findall(r"^ +run: (.+)$", action, re.MULTILINE)
    )
    assert install.returncode == 0, install.stderr
    assert check.returncode == code, check.stderr
    assert ("::error" in check.stdout and "file=a file.py,line=5" in check.stdout) is bool(code)
