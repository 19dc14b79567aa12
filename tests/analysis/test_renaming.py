"""What is proved, violated or unguarded does not depend on what anything is called."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from tests.renaming import renamed

CATALOG = load_catalog(entry_points=False)
FIXTURES = sorted((Path(__file__).parent.parent.parent / "fixtures").rglob("*.py"))
# They speak of an object that a function is handed, of which its name alone tells what it is: an optimizer, a scaler,
# a matrix that was observed.
OF_NAMED_OBJECTS = frozenset({"SL407", "SL603", "SL617"})
EXAMPLES = [
    pytest.param(
        example.code,
        id=f"{rule.code}-line{example.line}",
    )
    for rule in CATALOG.rules.values()
    for example in rule.examples
    if rule.code not in OF_NAMED_OBJECTS
]


def statuses(code: str) -> list[tuple[int, str, str]]:
    report = check_source(code.encode(), "program.py", CATALOG, AnalysisOptions(discharged=True))
    assert report.problems == ()
    found = (*report.diagnostics, *report.discharged)
    return sorted((d.span.start.row, d.code, d.status.value) for d in found)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_fixture_has_the_same_statuses_under_other_names(path: Path) -> None:
    code = path.read_text("utf-8")
    assert statuses(renamed(code)) == statuses(code)


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_has_the_same_statuses_under_other_names(code: str) -> None:
    assert statuses(renamed(code)) == statuses(code)


def test_every_name_but_those_of_functions_and_other_packages_is_another() -> None:
    code = (
        "import torch\n"
        "class Head(torch.nn.Module):\n"
        "    def __init__(self, eps=1e-6):\n"
        "        self.eps = eps\n"
        "    def forward(self, mask):\n"
        "        total = mask.sum(dim=1) + self.eps\n"
        "        return total\n"
        "head = Head(eps=0.0)\n"
    )
    assert renamed(code) == (
        "import torch\n"
        "class Head(torch.nn.Module):\n"
        "    def __init__(self, q0=1e-6):\n"
        "        self.q0 = q0\n"
        "    def forward(self, q1):\n"
        "        q2 = q1.sum(dim=1) + self.q0\n"
        "        return q2\n"
        "head = Head(q0=0.0)\n"
    )
