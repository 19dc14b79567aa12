"""What is told of a program whose faults lie across its files: the shapes under `tests/projects`, one bug of each kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.diagnostic import Diagnostic, Level
from stablelint.workspace.pipeline import Request, check
from stablelint.workspace.selection import Selection
from tests.analysis.support import CATALOG

PROJECTS = Path(__file__).parent.parent / "projects"
SHAPES = sorted(folder.name for folder in PROJECTS.iterdir() if folder.is_dir())
SELECTION = Selection(frozenset({"SL202", "SL301"}), "/")
_MARK = re.compile(r"# error: (SL\d+) via ([^\"\\\n]+)")


def found_in(root: Path, jobs: int = 1) -> tuple[Diagnostic, ...]:
    request = Request(Settings(root=root, level=Level.POSSIBLE), SELECTION, use_cache=False, jobs=jobs)
    result = check([str(root)], request, CATALOG)
    assert result.problems == ()
    return result.diagnostics


def marked(root: Path) -> set[tuple[str, str, str]]:
    """(file, rule, file of the chain) of each mark."""
    marks: set[tuple[str, str, str]] = set()
    for path in (*root.rglob("*.py"), *root.rglob("*.ipynb")):
        for code, files in _MARK.findall(path.read_text()):
            name = str(path.relative_to(root))
            marks |= {(name, code, via.strip()) for via in files.split(",")}
    return marks


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loss_of_probabilities_is_told_with_the_files_that_lead_to_it(shape: str) -> None:
    root = PROJECTS / shape
    told = {
        (
            str(Path(item.filename).relative_to(root)),
            item.code,
            str(Path(step.filename or item.filename).relative_to(root)),
        )
        for item in found_in(root)
        for step in item.derivation
    }
    assert marked(root) <= told
    assert {(name, code) for name, code, _ in told} == {(name, code) for name, code, _ in marked(root)}
