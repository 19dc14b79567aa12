"""One version everywhere."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from stablelint import __version__

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "packaging/conda/recipe.yaml"


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
