"""Inputs at which a site goes wrong are searched for in the process that holds the function."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stablelint.runtime.verify.outcome import Report
from stablelint.runtime.verify.probe.subject import Parameters
from stablelint.runtime.verify.site import Site, Verdict
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


def verified(path: Path, sites: list[Site], search_parameters: float = 0.0) -> Report:
    """The report on a program that is searched for twenty seconds; its output goes to a file beside it."""
    with open(path.with_name("output.txt"), "wb") as output:
        request = Request(
            sites,
            {str(path): path.read_bytes()},
            [sys.executable, path.name],
            directory=path.parent,
            search_seconds=20.0,
            search_parameters=search_parameters,
            rerun=False,
            output=output.fileno(),
        )
        return verify(request).report


def test_a_witness_is_reached_and_functions_with_effects_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    text = "(x - 3.5).abs() * self.scale"
    sites = [
        site_at(path, f"torch.log({text})", f"torch.log(({text}).clamp_min(1e-30))", {"x": text}, **LOG),
        site_at(path, "torch.log10(x)", "torch.log10(x.clamp_min(1e-30))", {"x": "x"}, **LOG),
    ]
    report = verified(path, sites)
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


SCALED = """\
import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.3]))

    def forward(self, flag):
        return torch.log((self.scale - 1.0).abs())


head = Head()
head(True).sum().backward()
"""


@pytest.mark.parametrize(
    ("reach", "verdict"), [(0.0, Verdict.LATENT), (0.1, Verdict.LATENT), (0.5, Verdict.REACHABLE)]
)
def test_parameters_are_searched_when_asked_and_no_further_than_that(
    tmp_path: Path, reach: float, verdict: Verdict
) -> None:
    path = tmp_path / "program.py"
    path.write_text(SCALED, encoding="utf-8")
    text = "(self.scale - 1.0).abs()"
    fault = site_at(path, f"torch.log({text})", f"torch.log({text}.clamp_min(1e-30))", {"x": text}, **LOG)
    (found,) = verified(path, [fault], reach).sites
    assert found.verdict is verdict, (tmp_path / "output.txt").read_text()
    if verdict is Verdict.REACHABLE:
        assert found.witness is not None
        shown = {operand.name: operand.values for operand in found.witness.operands}
        assert shown["self.scale"] == (1.0,)


GRADIENTS = """\
import torch


def unasked(x):
    return torch.sqrt(x * x)


def asked(x):
    return torch.sqrt(x * x + 0)


with torch.no_grad():
    unasked(torch.ones(3))
asked(torch.ones(3, requires_grad=True)).sum().backward()
"""


def test_a_gradient_is_searched_only_where_the_command_asks_for_one(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(GRADIENTS, encoding="utf-8")
    sites = [
        site_at(
            path,
            f"torch.sqrt({operand})",
            f"torch.sqrt(({operand}).clamp_min(1e-30))",
            {"x": operand},
            forward="x >= 0",
            backward="x > 0",
        )
        for operand in ("x * x", "x * x + 0")
    ]
    unasked, asked = verified(path, sites).sites
    assert (unasked.verdict, asked.verdict) == (Verdict.LATENT, Verdict.REACHABLE)
    note = "its gradient fails, and this command asked for none here"
    assert note in unasked.notes
    assert note not in asked.notes


@given(
    st.floats(0.01, 2.0),
    st.lists(st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_parameter_stays_within_reach_and_is_put_back(
    reach: float, steps: list[list[float]], zero: bool
) -> None:
    module = torch.nn.Linear(3, 1, bias=False)
    if zero:
        torch.nn.init.zeros_(module.weight)
    module.weight.requires_grad_(False)
    before = module.weight.detach().clone()
    parameters = Parameters.of(module, reach)
    size = float(before.norm()) or before.numel() ** 0.5
    with parameters.tracked() as held:
        assert held["self.weight"].requires_grad
        for step in steps:
            parameters.move("self.weight", torch.tensor([step]))
            assert float((module.weight.detach() - before).norm()) <= reach * size * (1 + 1e-4)
    assert not module.weight.requires_grad
    parameters.restore()
    assert torch.equal(module.weight, before)
    assert parameters.values() == {}
