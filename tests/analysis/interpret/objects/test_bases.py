"""What a base class from another file sets: the same for each class that inherits it, but for what that one changes."""

from pathlib import Path

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)
BASE = """
import torch
from torch import nn

class Base(nn.Module):
    margin = 1.0

    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.floor = self.least()
        self.edge = self.margin

    def least(self):
        return 1e-3
"""
USES = """
import torch
from base import Base

class First(Base):
    def __init__(self, scale):
        super().__init__(scale)

    def forward(self, x):
        return torch.log(x.abs() + self.{attribute})

class Second(Base):
    {changes}

    def __init__(self, scale):
        super().__init__(scale)

    def forward(self, x):
        return torch.log(x.abs() + self.{attribute})
"""


def rows(folder: Path, changes: str, attribute: str) -> list[int]:
    (folder / "base.py").write_text(BASE)
    text = USES.format(changes=changes, attribute=attribute)
    report = check_source(text.encode(), "uses.py", CATALOG, AnalysisOptions(root=folder))
    return [item.span.start.row for item in report.diagnostics if item.code == "SL101"]


FIRST, SECOND = 10, 19


def test_each_class_has_what_the_base_sets(tmp_path: Path) -> None:
    assert rows(tmp_path, "pass", "floor") == []
    assert rows(tmp_path, "pass", "edge") == []


def test_a_method_that_a_class_has_of_its_own_counts_for_it_alone(tmp_path: Path) -> None:
    assert rows(tmp_path, "def least(self): return 0.0", "floor") == [SECOND]


def test_a_default_that_a_class_has_of_its_own_counts_for_it_alone(tmp_path: Path) -> None:
    assert rows(tmp_path, "margin = 0.0", "edge") == [SECOND]
