"""Notebooks from the command line: places by cell, fixes in place, one error for what is no notebook."""

import json
import shutil
from pathlib import Path

import pytest

from cli.here import run_here

PROJECT = Path(__file__).parent.parent / "projects" / "notebook"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    return tmp_path / "train.ipynb"


def test_places_are_told_by_cell(notebook: Path) -> None:
    done = run_here(notebook.parent, "check", "--no-cache", "--output-format", "concise", "-q")
    assert done.code == 1
    assert "train.ipynb:cell 4:5:19: SL202" in done.out


def test_the_frame_shows_the_lines_of_the_cell(notebook: Path) -> None:
    done = run_here(notebook.parent, "check", "--no-cache", "--select", "SL202")
    assert "--> train.ipynb:cell 5:5:23" in done.out
    assert "5 |     return F.nll_loss(torch.log(p), y)" in done.out


def test_machines_are_told_file_and_cell(notebook: Path) -> None:
    arguments = ["check", "--no-cache", "--select", "SL202", "--output-format"]
    found = json.loads(run_here(notebook.parent, *arguments, "json").out)
    assert [(Path(one["filename"]).name, one["cell"], one["location"]["row"]) for one in found] == [
        ("train.ipynb", 4, 5),
        ("train.ipynb", 5, 5),
    ]
    [run] = json.loads(run_here(notebook.parent, *arguments, "sarif").out)["runs"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert places == ["train.ipynb", "train.ipynb"]
    assert [one["properties"]["cell"] for one in run["results"]] == ["4", "5"]


def test_a_rewrite_of_several_cells_is_left_to_the_command_that_can_show_it(notebook: Path) -> None:
    cells = [
        "import torch.nn.functional as F\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())",
        "def step(x, y):\n    return F.binary_cross_entropy(model(x), y)",
    ]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    notebook.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    told = run_here(notebook.parent, "check", "--no-cache", "train.ipynb").out
    assert "no fix: none that stays in its cell; `stablelint fix --unsafe-fixes`" in told
    shown = run_here(notebook.parent, "fix", "--no-cache", "--unsafe-fixes", "train.ipynb").out
    assert "+model = nn.Sequential(nn.Linear(3, 1))\n@@ cell 2 @@\n def step(x, y):\n" in shown


def test_a_fix_changes_nothing_but_the_source_of_its_cell(notebook: Path) -> None:
    before = notebook.read_text()
    done = run_here(notebook.parent, "fix", "--no-cache", "--apply", "--select", "SL202")
    old = '    "    p = torch.softmax(logits, dim=1)\\n",\n    "    return F.nll_loss(torch.log(p), y)'
    assert old in before
    assert notebook.read_text() == before.replace(
        old, '    "    return F.nll_loss(torch.log_softmax(logits, dim=1), y)'
    )
    assert "Fixed 1 finding" in done.out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"cells": [', "train.ipynb:1:12: not a notebook: Expecting value"),
        ('{"cells": 3}', "train.ipynb: not a notebook: it has no list of cells"),
        (
            '{"cells": [{"cell_type": "raw", "source": ""}, {"cell_type": "code", "source": "import torch\\nx = ("}]}',
            "train.ipynb:cell 2:2:5: cannot parse: '(' was never closed",
        ),
    ],
)
def test_what_cannot_be_read_is_one_error(notebook: Path, content: str, told: str) -> None:
    notebook.write_text(content)
    for command in (("check",), ("fix", "--apply")):
        done = run_here(notebook.parent, *command, "--no-cache", "train.ipynb")
        assert done.code == 2
        assert [line for line in done.err.splitlines() if "error" in line] == [f"error: {told}"]
        assert notebook.read_text() == content


def test_what_only_ipython_understands_is_shown_as_it_stands(notebook: Path) -> None:
    done = run_here(notebook.parent, "check", "--no-cache", "--select", "SL202", "--level", "possible")
    assert "IPython" not in done.out
    shown = run_here(notebook.parent, "fix", "--no-cache", "--select", "SL202").out
    assert "@@ cell 5 @@\n def nll(logits, y):\n-    p = torch.softmax" in shown


def test_the_plain_diff_is_one_of_the_file(notebook: Path) -> None:
    before = notebook.read_text()
    patch = run_here(notebook.parent, "fix", "--no-cache", "--diff", "-q", "--select", "SL202").out
    removed = [line[1:] for line in patch.splitlines()[2:] if line.startswith("-")]
    assert removed
    assert all(line in before.splitlines() for line in removed)


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_notebook_does_not_come_by_standard_input(notebook: Path, command: str) -> None:
    done = run_here(notebook.parent, command, "--stdin-filename", "train.ipynb")
    assert done.code == 2
    assert done.err == "error: train.ipynb: a notebook is not read from standard input: name the file\n"
