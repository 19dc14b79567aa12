"""An analysis leaves nothing for the cyclic collector, which is off while files are checked."""

import gc
from pathlib import Path

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

SOURCE = b"""
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, scale=1.0):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.scale = scale
        self.half = self.scale / 2

    def forward(self, x):
        def normed(y):
            return y / y.norm(dim=-1)

        class Local:
            def apply(self, z):
                return torch.log(z)

        return normed(self.project(x)[:, 0:2]) * self.half, Local().apply(x)


def make(x):
    heads = [Head(4), Head(8, scale=2.0)]
    return sum(torch.log(head(x)[0]) for head in heads) / x.sum()
"""


def test_an_analysis_parts_what_refers_to_each_other(tmp_path: Path) -> None:
    catalog = load_catalog(entry_points=False)
    path = tmp_path / "head.py"
    path.write_bytes(SOURCE)
    check_source(SOURCE, str(path), catalog, AnalysisOptions())  # what is made once is made here
    collecting = gc.isenabled()
    gc.disable()
    try:
        gc.collect()
        report = check_source(SOURCE, str(path), catalog, AnalysisOptions())
        assert report.diagnostics
        assert gc.collect() == 0
    finally:
        if collecting:
            gc.enable()
