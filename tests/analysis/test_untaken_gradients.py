"""Places through which no gradient is taken, and digits that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Level

from .support import CATALOG, likely


def test_a_figure_that_is_printed_has_no_gradient() -> None:
    code = """
    class Probe(nn.Module):
        def forward(self, x):
            print(x.var(0).mean().sqrt())
            return x.var(0).mean().sqrt()
    """
    assert [line for line, _ in likely(code)] == [4]


@pytest.mark.parametrize(("folder", "expected"), [("envs", []), ("losses", [5])])
def test_what_stands_among_environments_takes_no_gradient(
    tmp_path: Path, folder: str, expected: list[int]
) -> None:
    package = tmp_path / "pkg" / folder
    package.mkdir(parents=True)
    for path in (tmp_path / "pkg", package):
        (path / "__init__.py").touch()
    source = package / "walker.py"
    source.write_text(
        "import torch\n\ndef pitch(x: torch.Tensor):\n    c = x.clamp(-1, 1)\n    return torch.asin(c)\n"
    )
    found = check_source(source.read_bytes(), str(source), CATALOG, AnalysisOptions())
    assert [d.span.start.row for d in found.diagnostics if d.level is Level.LIKELY] == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("token_ids", []), ("relative_positions", []), ("energies", [2])]
)
def test_whole_numbers_have_no_gradient(name: str, expected: list[int]) -> None:
    code = f"""
    def bucket({name}: torch.Tensor):
        far = torch.log({name}.float())
        near = {name}.float()
        return torch.where({name} > 0, far, near)
    """
    assert [line for line, rule in likely(code) if rule == "SL503"] == expected


def test_what_becomes_a_whole_number_has_no_digits_to_lose() -> None:
    code = """
    def durations(x: torch.Tensor):
        return torch.clamp(torch.round(x.exp() - 1.0), min=0).long(), x.exp() - 1
    """
    (found,) = likely(code)
    assert found == (2, "SL209")
