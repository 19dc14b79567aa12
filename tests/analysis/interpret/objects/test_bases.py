"""What a base class from another file sets: the same for each class that inherits it, but for what that one changes."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from tests.analysis.support import open_

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


@pytest.mark.parametrize(
    "call", ["Rank.__init__(self, r)", "Rank.__init__(self, rank=r)", "super().__init__(r)"]
)
def test_a_base_is_constructed_however_it_is_called(call: str) -> None:
    code = f"""
    class Rank:
        def __init__(self, rank):
            self.rank = rank

    class Adapter(Rank):
        def __init__(self, x: torch.Tensor, r: int = 0):
            {call}
            if r > 0:
                self.scale = x / self.rank
    """
    assert open_(code) == []
    assert open_(code.replace("if r > 0", "if r >= 0")) != []
