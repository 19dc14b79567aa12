"""Inputs at which a site goes wrong are searched for in the process that holds the function."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stablelint.runtime.verify.outcome import Report, SiteReport
from stablelint.runtime.verify.probe.subject import Parameters
from stablelint.runtime.verify.request import Request
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.runtime.verify.verify import verify
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


def unasked(x):
    return torch.sqrt(x * x)


def asked(x):
    return torch.sqrt(x * x + 0)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.3]))

    def forward(self, flag):
        return torch.log((self.scale - 1.0).abs())


class Farther(Scaled):
    def forward(self, flag):
        return torch.log2((self.scale - 0.7).abs())


head = Head()
for step in range(3):
    head(torch.rand(4) + 1)
    saved(torch.rand(4) + 1)
with torch.no_grad():
    unasked(torch.ones(3))
asked(torch.ones(3, requires_grad=True)).sum().backward()
Scaled()(True).sum().backward()
Farther()(True).sum().backward()
"""


def clamped(path: Path, function: str, operand: str, **more: object) -> Site:
    """The site of a call in the program, with a fix that keeps its operand above 0."""
    fixed = f"torch.{function}(({operand}).clamp_min(1e-30))"
    return site_at(path, f"torch.{function}({operand})", fixed, {"x": operand}, **(more or LOG))


def searched(path: Path, sites: list[Site], search_parameters: float) -> Report:
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


@pytest.fixture(scope="module")
def stay(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, SiteReport]]:
    """What is found where parameters stay as they are, and the folder."""
    path = tmp_path_factory.mktemp("search") / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    root = {"forward": "x >= 0", "backward": "x > 0"}
    sites = {
        "scaled": clamped(path, "log", "(self.scale - 1.0).abs()"),
        "head": clamped(path, "log", "(x - 3.5).abs() * self.scale"),
        "saved": clamped(path, "log10", "x"),
        "unasked": clamped(path, "sqrt", "x * x", **root),
        "asked": clamped(path, "sqrt", "x * x + 0", **root),
    }
    report = searched(path, list(sites.values()), 0.0)
    return path.parent, dict(zip(sites, report.sites, strict=True))


def test_a_witness_is_reached_and_functions_with_effects_are_left_alone(
    stay: tuple[Path, dict[str, SiteReport]],
) -> None:
    folder, found = stay
    assert (found["head"].verdict, found["saved"].verdict) == (Verdict.REACHABLE, Verdict.LATENT)
    witness = found["head"].witness
    assert witness is not None
    assert witness.origin == "search"
    (shown,) = witness.operands
    assert shown.name == "x"
    assert 3.5 in shown.values
    assert (folder / "output.txt").read_text().count("an effect") == 3
    assert found["head"].calls == 3, "the search is not counted"
    assert not os.path.exists(folder / ".stablelint")


def test_a_gradient_is_searched_only_where_the_command_asks_for_one(
    stay: tuple[Path, dict[str, SiteReport]],
) -> None:
    unasked, asked = stay[1]["unasked"], stay[1]["asked"]
    assert (unasked.verdict, asked.verdict) == (Verdict.LATENT, Verdict.REACHABLE)
    note = "its gradient fails, and this command asked for none here"
    assert note in unasked.notes
    assert note not in asked.notes


def test_parameters_are_searched_when_asked_and_no_further_than_that(
    stay: tuple[Path, dict[str, SiteReport]], tmp_path: Path
) -> None:
    assert stay[1]["scaled"].verdict is Verdict.LATENT
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    sites = [
        clamped(path, "log", "(self.scale - 1.0).abs()"),
        clamped(path, "log2", "(self.scale - 0.7).abs()"),
    ]
    near, far = searched(path, sites, 0.4).sites
    assert (near.verdict, far.verdict) == (Verdict.REACHABLE, Verdict.LATENT)
    assert near.witness is not None
    shown = {operand.name: operand.values for operand in near.witness.operands}
    assert shown["self.scale"] == (1.0,)


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
