"""Inputs at which a site goes wrong are searched for in the process that holds the function."""

import os
import sys
from pathlib import Path

import pytest

from stablelint.runtime.verify.outcome import Report, SiteReport
from stablelint.runtime.verify.site import Request, Site, Verdict
from stablelint.runtime.verify.verify import verify
from tests.forks import Servers
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.support import LOG

PROGRAM = """\
import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def forward(self, x):
        return torch.log((x - x.mean()).abs() * self.scale)


def saved(x):
    print("an effect")
    return torch.log10(x)


def unasked(x):
    return torch.sqrt(x * x)


def asked(x):
    return torch.sqrt(x * x + 0)


head = Head()
for step in range(3):
    head(torch.rand(4) + 1)
    saved(torch.rand(4) + 1)
with torch.no_grad():
    unasked(torch.ones(3))
asked(torch.ones(3, requires_grad=True)).sum().backward()
"""


def clamped(path: Path, function: str, operand: str, **more: object) -> Site:
    """The site of a call in the program, with a fix that keeps its operand above 0."""
    fixed = f"torch.{function}(({operand}).clamp_min(1e-30))"
    return site_at(path, f"torch.{function}({operand})", fixed, {"x": operand}, **(more or LOG))


def searched(path: Path, sites: list[Site]) -> Report:
    """The report on a program that is searched for twenty seconds; its output goes to a file beside it."""
    with open(path.with_name("output.txt"), "wb") as output:
        request = Request(
            sites,
            {str(path): path.read_bytes()},
            [sys.executable, path.name],
            directory=path.parent,
            search_seconds=20.0,
            rerun=False,
            output=output.fileno(),
        )
        return verify(request).report


@pytest.fixture(scope="module")
def stay(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> tuple[Path, dict[str, SiteReport]]:
    """What is found, and the folder."""
    path = tmp_path_factory.mktemp("search") / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    root = {"forward": "x >= 0", "backward": "x > 0"}
    sites = {
        "head": clamped(path, "log", "(x - x.mean()).abs() * self.scale"),
        "saved": clamped(path, "log10", "x"),
        "unasked": clamped(path, "sqrt", "x * x", **root),
        "asked": clamped(path, "sqrt", "x * x + 0", **root),
    }
    with servers.running_commands():
        report = searched(path, list(sites.values()))
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
    assert set(shown.values) == {0.0}
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
