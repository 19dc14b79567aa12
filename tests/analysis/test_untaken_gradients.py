"""Places through which no gradient is taken, and digits that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source

from .support import CATALOG, open_


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("losses", [5]),
    ],
)
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
    assert [d.span.start.row for d in found.diagnostics] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("energies", [2]),
    ],
)
def test_whole_numbers_have_no_gradient(name: str, expected: list[int]) -> None:
    code = f"""
    def bucket({name}: torch.Tensor):
        far = torch.log({name}.float())
        near = {name}.float()
        return torch.where({name} > 0, far, near)
    """
    assert [line for line, rule in open_(code) if rule == "SL503"] == expected


def test_python_numbers_have_no_gradient() -> None:
    code = """
    def weights(size: float, power: float = 0.5):
        return torch.as_tensor(size).clamp(min=0) ** power
    """
    assert open_(code) == []
