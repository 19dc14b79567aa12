"""A command that is a test-suite: which of its tests fail, and what that says of a fix."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stablelint.runtime.verify.site import Request, Verdict
from stablelint.runtime.verify.verify import verify
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.support import LOG

MODULE = """\
import torch


def share(x):
    return torch.log(x)


def other(x):
    return torch.log2(x)
"""
SUITE = """\
import torch
from module import other, share


def test_what_is_impossible_has_no_chance():
    assert share(torch.zeros(2)).isneginf().all()


def test_shares():
    assert other(torch.zeros(2)) is not None


def test_that_always_fails():
    raise AssertionError
"""


def test_a_fix_that_a_test_speaks_against_is_refused_though_others_fail_anyway(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_module.py").write_text(SUITE, encoding="utf-8")
    path = tmp_path / "module.py"
    sites = [
        site_at(path, f"torch.{name}(x)", f"torch.{name}(x.clamp_min(1e-30))", {"x": "x"}, **LOG)
        for name in ("log", "log2")
    ]
    texts = {site.id: (site.original, site.fixed or "") for site in sites}

    def compose(chosen: frozenset[str]) -> dict[str, bytes]:
        text = MODULE
        for site in chosen:
            text = text.replace(*texts[site])
        return {os.path.realpath(path): text.encode()}

    with open(tmp_path / "output.txt", "wb") as output:
        request = Request(
            sites,
            {str(path): MODULE.encode()},
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            compose,
            directory=tmp_path,
            search_seconds=0.0,
            output=output.fileno(),
        )
        report = verify(request).report
    assert report.rerun is not None
    assert report.rerun.before.failed_tests == {"test_module.py::test_that_always_fails"}
    assert report.rerun.passed is False
    assert [site.verdict for site in report.sites] == [Verdict.DIVERGES, Verdict.CONFIRMED]
    test = "test_module.py::test_what_is_impossible_has_no_chance"
    assert report.sites[0].notes[-1] == f"confirmed by its replay; {test} fails with this fix alone"
    assert report.rerun.claim == f"{test} failed with the fixes, and not without them"
