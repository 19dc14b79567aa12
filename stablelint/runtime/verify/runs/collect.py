"""Read what the processes of a command recorded, and join it by site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stablelint.runtime.process.start import reports_of
from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.probe.look import Extent, Seen
from stablelint.runtime.verify.probe.series import Series
from stablelint.runtime.verify.replay.values import Call, read, restored_call

_KEPT = 24


@dataclass(slots=True)
class Captured(Seen):
    """All that was recorded of one site, over all processes."""

    kept: list[Call] = field(default_factory=list)
    function: FunctionShown | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """What one run of the command left behind."""

    sites: Mapping[str, Captured] = field(default_factory=dict)
    overhead: float | None = None  # share of the run's time that the probes took
    damaged: tuple[str, ...] = ()


def read_records(folder: Path) -> Records:
    """Everything in `folder`; a damaged record is named and left out."""
    sites: dict[str, Captured] = {}
    spent = elapsed = 0.0
    damaged = []
    for path in sorted(folder.glob("capture-*.pt")):
        try:
            data = read(path)
            for target in data["targets"]:
                _join(sites.setdefault(target["id"], Captured()), target)
            spent, elapsed = spent + data["spent"], elapsed + data["elapsed"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            damaged.append(path.name)
    for path in sorted(folder.glob("function-*.json")):
        try:
            for name, shown in json.loads(path.read_text(encoding="utf-8")).items():
                sites.setdefault(name, Captured()).function = FunctionShown(**shown)
        except (OSError, ValueError, TypeError, AttributeError):
            damaged.append(path.name)
    for captured in sites.values():
        del captured.kept[_KEPT:]  # each process has put its most telling calls first
    return Records(sites, spent / elapsed if elapsed else None, tuple(damaged))


def _join(captured: Captured, target: Mapping[str, Any]) -> None:
    extents = {name: Extent(*extent) for name, extent in target["extents"].items()}
    captured.add(target["counts"], target["dtypes"], extents)
    captured.kept += map(restored_call, target["kept"])


def series_of(folder: Path) -> Series | None:
    """The series of the process that took most steps."""
    found = (Series(**fields) for fields in reports_of(folder, "series"))
    return max(found, key=lambda series: (series.backwards, series.steps), default=None)


def failed_tests(folder: Path) -> frozenset[str] | None:
    """The tests that failed; None where the command ran none."""
    found = reports_of(folder, "tests")
    return frozenset().union(*found) if found else None
