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

    def again(self, x):
        return Head.again(self, x.zero_())

    def forward(self, x):
        def normed(y):
            return y / y.norm(dim=-1)

        class Local:
            def apply(self, z):
                return torch.log(z)

        self.again(x)
        return normed(self.project(x)[:, 0:2]) * self.half, Local().apply(x)


def fill(x, depth):
    def zero(y):
        def halve(z):
            z.div_(2)
            return halve(z)

        halve(y.zero_())
        return zero(y)

    zero(x)
    return fill(x, depth - 1) if depth else x


def make(x):
    heads = [Head(4), Head(8, scale=2.0)]
    fill(x, 2)
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
