"""Inputs at which a site goes wrong are searched for in the process that holds the function."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stablelint.runtime.verify.site import Verdict
from stablelint.runtime.verify.verify import Request, verify
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.support import LOG

PROGRAM = """\
import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def forward(self, x):
        return torch.log((x - 3.5).abs() * self.scale)


def saved(x):
    print("an effect")
    return torch.log10(x)


head = Head()
for step in range(3):
    head(torch.rand(4) + 1)
    saved(torch.rand(4) + 1)
print("calls end")
"""


def test_a_witness_is_reached_and_functions_with_effects_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    text = "(x - 3.5).abs() * self.scale"
    sites = [
        site_at(path, f"torch.log({text})", f"torch.log(({text}).clamp_min(1e-30))", {"x": text}, **LOG),
        site_at(path, "torch.log10(x)", "torch.log10(x.clamp_min(1e-30))", {"x": "x"}, **LOG),
    ]
    with open(tmp_path / "output.txt", "wb") as output:
        request = Request(
            sites,
            {str(path): path.read_bytes()},
            [sys.executable, "program.py"],
            directory=tmp_path,
            search_seconds=20.0,
            rerun=False,
            output=output.fileno(),
        )
        report = verify(request).report
    assert [site.verdict for site in report.sites] == [Verdict.REACHABLE, Verdict.LATENT]
    witness = report.sites[0].witness
    assert witness is not None
    assert witness.origin == "search"
    (shown,) = witness.operands
    assert shown.name == "x"
    assert 3.5 in shown.values
    assert (tmp_path / "output.txt").read_text().count("an effect") == 3
    assert report.sites[0].calls == 3, "the search is not counted"
    assert not os.path.exists(tmp_path / ".stablelint")
