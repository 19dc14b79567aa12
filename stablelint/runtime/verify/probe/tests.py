"""A pytest plugin that runs the tests that a plan asks for, and tells which fail in a process."""

from __future__ import annotations

from typing import Any

from stablelint.runtime.verify.probe.plan import REGISTRY

_failed: set[str] = set()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave the tests out that the plan does not ask for."""
    if REGISTRY.plan is not None and REGISTRY.plan.tests:
        items[:] = [item for item in items if item.nodeid in REGISTRY.plan.tests]


def pytest_runtest_logreport(report: Any) -> None:
    """Note a test that fails, or whose preparation does."""
    if report.failed:
        _failed.add(report.nodeid)


pytest_collectreport = pytest_runtest_logreport  # a module that cannot be imported fails as one


def pytest_sessionfinish() -> None:
    """Tell which tests failed."""
    if REGISTRY.plan is not None:
        REGISTRY.plan.for_processes().tell("tests", sorted(_failed))
