"""What runs have seen of a value is told wherever the function speaks of that value, and nowhere else."""

from pathlib import Path

import pytest

from stablelint.diagnostic import Position, Span
from stablelint.runtime.verify.outcome import Report, SiteReport
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.workspace.runs.evidence import write_observations
from stablelint.workspace.runs.seen import seen_in

SOURCE = """\
import torch


def loss(x, y):
    p = torch.softmax(x, -1)
    y = y + 1
    return torch.log(p) / torch.log( y )


def other(p):
    return torch.log(p)
"""
LOW, HIGH = {"p": 0.25, "y": 1.0}, {"p": 0.5, "y": 9.0}


def keep(root: Path, expression: str, operand: str, command: tuple[str, ...] = ("python",)) -> None:
    """Writes what a verification has seen of the operand of an expression in `loss`."""
    at = Span(Position(7, 12), Position(7, 13))
    site = Site("SL101", "a.py", at, expression, expression, None, {"x": operand})
    extents = {operand: {"min": LOW[operand], "max": HIGH[operand], "zeros": 0}}
    report = SiteReport(site, Verdict.NOT_REPRODUCED, 1200, extents)
    write_observations(root, Report((report,), command=command), {"a.py": SOURCE.encode()})


def told(root: Path, source: str = SOURCE) -> dict[str, str]:
    """What is told, by the place and the text that it is told of."""
    lines = source.splitlines()
    return {
        f"{span.start.row}: {lines[span.start.row - 1][span.start.column - 1 : span.end.column - 1]}": str(
            seen
        )
        for span, seen in seen_in(source.encode(), "a.py", root).items()
    }


def test_a_name_that_is_bound_once_is_told_wherever_its_function_names_it(tmp_path: Path) -> None:
    keep(tmp_path, "torch.log(p)", "p")
    seen = "seen in [0.25, 0.5] (1,200 times)"
    assert told(tmp_path) == {"5: p": seen, "5: torch.softmax(x, -1)": seen, "7: p": seen}


def test_one_that_is_bound_again_is_told_at_the_site_alone(tmp_path: Path) -> None:
    keep(tmp_path, "torch.log( y )", "y")
    assert told(tmp_path) == {"7: y": "seen in [1, 9] (1,200 times)"}


@pytest.mark.parametrize("change", ["p.add_(1)", "p[0] = 1", "p.view(-1).mul_(2)"])
def test_one_that_is_changed_in_place_is_told_at_the_site_alone(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "SOURCE", SOURCE.replace("y = y + 1", change))
    keep(tmp_path, "torch.log(p)", "p")
    assert list(told(tmp_path, SOURCE)) == ["7: p"]


def test_nothing_is_told_of_another_text_or_of_calls_that_no_program_made(tmp_path: Path) -> None:
    assert told(tmp_path) == {}
    keep(tmp_path, "torch.log(p)", "p", command=())
    assert told(tmp_path) == {}
    keep(tmp_path, "torch.log(p)", "p")
    assert told(tmp_path, SOURCE.replace("y + 1", "y + 2")) == {}
    assert told(tmp_path, SOURCE + "def (:\n") == {}
