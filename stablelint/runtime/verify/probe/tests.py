"""A pytest plugin that tells which tests fail in a process: the exit status of a suite only says that some do."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from stablelint.runtime.verify.probe.plan import REGISTRY

_failed: set[str] = set()


def pytest_runtest_logreport(report: Any) -> None:
    """Note a test that fails, or whose preparation does."""
    if report.failed:
        _failed.add(report.nodeid)


pytest_collectreport = pytest_runtest_logreport  # a module that cannot be imported fails as one


def pytest_sessionfinish() -> None:
    """Tell which tests failed."""
    if REGISTRY.plan is not None:
        with contextlib.suppress(OSError):
            path = Path(REGISTRY.plan.folder) / f"tests-{os.getpid()}.json"
            path.write_text(json.dumps(sorted(_failed)), encoding="utf-8")
