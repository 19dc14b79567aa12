"""The first run: the command under probes, or, where there is none, calls that are made for the functions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stablelint.runtime.process.start import reports_of
from stablelint.runtime.verify.outcome import Run
from stablelint.runtime.verify.probe.install import resolved
from stablelint.runtime.verify.probe.plan import Plan, Target
from stablelint.runtime.verify.replay.compare import Replayer
from stablelint.runtime.verify.runs.command import Records, elsewhere, read_records, run_command
from stablelint.runtime.verify.site import Request, Site
from stablelint.runtime.verify.witness.project import root_of

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
