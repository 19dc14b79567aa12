"""A command that is a test-suite: which of its tests fail, and what that says of a fix."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stablelint.runtime.verify.outcome import Run
from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.runs import rerun
from stablelint.runtime.verify.runs.rerun import Rerunner, worse
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


def test_a_fix_that_a_test_speaks_against_is_refused_though_others_fail_anyway(
    tmp_path: Path, forked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each of twelve runs would load them
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
    assert (
        report.sites[0].notes[-1]
        == f"confirmed by its replay; {test} fails with this fix, and not without it"
    )
    said = "failed with the fixes, and not without them; with the other fix it is no worse"
    assert report.rerun.claim == f"{test} {said}"


class _Suite:
    """A command with one test, and what becomes of it with the fixes that a run has."""

    def __init__(self, fails: Callable[[set[str], int], bool]) -> None:
        self._fails, self.runs = fails, 0

    def __call__(self, _: object, plan: Plan, **options: object) -> Run:
        """As `run_command`."""
        self.runs += 1
        fixes = {fix for held in plan.sources.values() for fix in Path(held).read_text().split()}
        failed = frozenset({"test"} if self._fails(fixes, self.runs) else ())
        return Run(bool(failed), 0.0, failed_tests=failed)


def _rerunner(suite: _Suite, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Rerunner:
    monkeypatch.setattr(rerun, "run_command", suite)
    request = Request((), {}, ("pytest",), lambda fixes: {"module.py": " ".join(sorted(fixes)).encode()})
    return Rerunner(request, folder, Run(0, 0.0, failed_tests=frozenset()))


def test_of_fixes_that_fail_in_company_the_later_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixes = [f"fix{number}" for number in range(9)]
    suite = _Suite(lambda given, _: {"fix2", "fix6"} <= given or "fix8" in given)
    rerunner = _rerunner(suite, tmp_path, monkeypatch)
    guilty = rerunner.guilty(rerunner.run(fixes), fixes)
    assert set(guilty) == {"fix6", "fix8"}
    assert None not in guilty.values()


def test_a_test_that_fails_by_chance_accuses_no_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rerunner = _rerunner(_Suite(lambda _, run: run in (1, 2, 4)), tmp_path, monkeypatch)
    after = rerunner.run(["fix"])
    assert after.failed_tests == {"test"}
    assert not worse(rerunner.before, after)


def test_fixes_among_which_the_guilty_one_was_not_found_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixes = [f"fix{number}" for number in range(9)]

    def fails(given: set[str], run: int) -> bool:
        if run > 9:
            raise KeyboardInterrupt
        return "fix5" in given

    rerunner = _rerunner(_Suite(fails), tmp_path, monkeypatch)
    guilty = rerunner.guilty(rerunner.run(fixes), fixes)
    assert "fix5" in guilty
    assert set(guilty.values()) == {None}
