"""What tells where code stands."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog

CATALOG = load_catalog(entry_points=False)
CODE = b"""
import torch

def share(x):
    return x / x.sum(-1, keepdim=True)
"""


def facts_at(root: Path, filename: str) -> set[str]:
    found = check_source(CODE, filename, CATALOG, AnalysisOptions(root=root)).diagnostics
    assert found
    return {reason.fact for one in found for reason in one.because}


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_a_folder_of_tests_is_one_whether_or_not_it_is_a_package(absolute: bool, tmp_path: Path) -> None:
    shown = str(tmp_path) + "/" if absolute else ""
    assert "in_test" in facts_at(tmp_path, f"{shown}ops/tests/shares.py")
    assert "in_test" not in facts_at(tmp_path, f"{shown}ops/parts/shares.py")


def test_folders_above_the_root_tell_nothing(tmp_path: Path) -> None:
    root = tmp_path / "tests" / "project"
    assert "in_test" not in facts_at(root, str(root / "shares.py"))


@pytest.mark.parametrize(
    ("name", "is_loss"),
    [("focal_loss", True), ("print_loss", False), ("_plot_losses", False), ("log_loss", True)],
)
def test_what_reports_a_loss_is_none(name: str, is_loss: bool, tmp_path: Path) -> None:
    code = CODE.replace(b"share", name.encode())
    found = check_source(code, "shares.py", CATALOG, AnalysisOptions(root=tmp_path)).diagnostics
    assert found
    assert all(("in_loss" in [reason.fact for reason in one.because]) is is_loss for one in found)


@pytest.mark.parametrize("does", [b"", b"\nprint(share(torch.rand(2, 3)))\n"], ids=["defines", "runs"])
def test_a_script_is_a_file_that_does_something_when_it_is_run(does: bytes, tmp_path: Path) -> None:
    found = check_source(CODE + does, "shares.py", CATALOG, AnalysisOptions(root=tmp_path)).diagnostics
    assert found
    assert any(reason.fact == "in_script" for one in found for reason in one.because) is bool(does)
