"""Run the user's command as a child process under a plan, and read what its processes recorded, by site.

Where there is no command, calls are made for the functions around the sites instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stablelint.runtime.process.launch import started
from stablelint.runtime.process.start import reports_of
from stablelint.runtime.verify.outcome import FunctionShown, Run
from stablelint.runtime.verify.probe.install import resolved
from stablelint.runtime.verify.probe.look import Extent, Seen
from stablelint.runtime.verify.probe.plan import Plan, Target
from stablelint.runtime.verify.probe.series import Series
from stablelint.runtime.verify.replay.compare import Replayer
from stablelint.runtime.verify.replay.values import Call, read, restored_call
from stablelint.runtime.verify.site import Request, Site
from stablelint.runtime.verify.witness.project import root_of

_GRACE_SECONDS = 10.0


def elsewhere(command: Sequence[str]) -> str | None:
    """What to say of a command that is found on the path, though this environment has one of that name."""
    found, beside = shutil.which(command[0]), Path(sys.executable).parent / command[0]
    if found is None or os.sep in command[0] or not beside.is_file() or os.path.samefile(found, beside):
        return None
    return f"`{command[0]}` is {found}; that of this environment is {beside}"


def run_command(request: Request, plan: Plan) -> Run:
    """Run the command under `plan` and wait for it; Ctrl-C and a time-out let it write what it has.

    Raises `CommandNotFoundError`.
    """
    folder = Path(plan.folder)
    folder.mkdir(parents=True, exist_ok=True)
    # or each run would order its sets anew
    seeded = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    began = time.perf_counter()
    process = started(
        request.command,
        plan.for_processes(),
        directory=request.directory,
        output=request.output,
        extra=seeded,
        apart=True,
    )
    stopped = None
    try:
        status = process.wait(request.timeout)
    except subprocess.TimeoutExpired:
        stopped, status = "timed out", _stop(process)
    except KeyboardInterrupt:
        stopped, status = "interrupted", _stop(process)
    seconds = round(time.perf_counter() - began, 3)
    return Run(status, seconds, stopped, series_of(folder), failed_tests(folder))


def _stop(process: subprocess.Popen[bytes]) -> int:
    """End the process and its children: asked first, then made to."""
    for step in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            return process.wait(_GRACE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


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


_SECONDS = 300.0  # that making calls may take in all, where no time-out says otherwise

Prepared = Mapping[str, Replayer | None]


def capture(request: Request, folder: Path, prepared: Prepared, problems: list[str]) -> tuple[Run, Records]:
    """Run the command with probes at the sites. Raises `CommandNotFoundError`."""
    plan = Plan(
        str(folder / "capture"),
        _targets(request.sites, prepared),
        search_seconds=request.search_seconds,
        fixes=_fixed_files(request, folder),
    )
    run = run_command(request, plan)
    records = read_records(folder / "capture")
    problems += [f"a damaged record was left out: {name}" for name in records.damaged]
    unwatched = reports_of(folder / "capture", "unguarded")
    problems += [f"the losses of a process were not watched: {one['error']}" for one in unwatched]
    return run, records


def failed_early(run: Run, records: Records) -> bool:
    """Whether the command failed without a word of the code that is looked at: to run it again would tell nothing."""
    return run.failed and not records.sites and run.losses is None


def cut_short(run: Run, records: Records, request: Request) -> list[str]:
    """What is to be said of a command that did not come to its own good end."""
    if run.stopped == "timed out":
        return [f"the command was stopped after {request.timeout:g} s; sites reached until then count"]
    if run.stopped is not None:
        return [f"{run.stopped}; sites reached until then count"]
    if not run.status:
        return []
    if failed_early(run, records):
        said = f"the command ended with status {run.status} before a file with a site was loaded: nothing was verified"
    else:
        said = f"the command ended with status {run.status}; sites reached until then count"
    other = None if records.sites else elsewhere(request.command)
    return [said, *([other] if other else [])]


def make(request: Request, folder: Path, prepared: Prepared, problems: list[str]) -> Records:
    """Call the functions around the sites with made arguments, in a process of its own."""
    seconds = request.timeout or _SECONDS
    targets = _targets(request.sites, prepared)
    fixes = _fixed_files(request, folder)
    plan = Plan(str(folder / "made"), targets, fixes=fixes, definitions=root_of(targets))
    command = sys.executable, "-m", "stablelint.runtime.verify.witness", str(seconds)
    with open(folder / "made.log", "wb") as log:
        asked = replace(
            request, command=command, timeout=seconds + 10.0, output=log.fileno(), directory=folder
        )
        run = run_command(asked, plan)
    if run.stopped == "interrupted":
        problems.append("interrupted; calls that were made until then count")
    elif run.status and run.stopped is None:
        said = (folder / "made.log").read_text(encoding="utf-8", errors="replace").splitlines()
        problems.append(f"no calls could be made: {said[-1] if said else f'status {run.status}'}")
    return read_records(folder / "made")


def _fixed_files(request: Request, folder: Path) -> dict[str, str]:
    """For each site with a fix a file that holds the whole text with that fix alone."""
    found: dict[str, str] = {}
    held = folder / "fixed"
    held.mkdir(exist_ok=True)
    for number, site in enumerate(request.sites):
        texts = request.compose(frozenset({site.id})) if site.has_fix and not site.across else {}
        text = texts.get(resolved(site.filename))
        if text is not None:
            path = held / f"{number}.py"
            path.write_bytes(text)
            found[site.id] = str(path)
    return found


def _targets(sites: Sequence[Site], prepared: Prepared) -> dict[str, tuple[Target, ...]]:
    targets: dict[str, list[Target]] = {}
    for site in sites:
        replayer = prepared[site.id]
        span = site.probe_span
        operands = (*replayer.operands.values(), *replayer.spare) if replayer else ()
        target = Target(
            site.id,
            (span.start.row, span.start.column),
            (span.end.row, span.end.column),
            operands,
            len(replayer.operands) if replayer else None,
        )
        targets.setdefault(resolved(site.filename), []).append(target)
    return {path: tuple(items) for path, items in targets.items()}
