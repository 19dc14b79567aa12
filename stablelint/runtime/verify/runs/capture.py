"""The first run: the command under probes, or, where there is none, calls that are made for the functions."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path

from stablelint.runtime.verify.probe.install import resolved
from stablelint.runtime.verify.probe.plan import Plan, Target
from stablelint.runtime.verify.replay.compare import Replayer
from stablelint.runtime.verify.request import Request
from stablelint.runtime.verify.runs.collect import Records, read_records
from stablelint.runtime.verify.runs.command import elsewhere, run_command
from stablelint.runtime.verify.runs.rerun import Run
from stablelint.runtime.verify.site import Site

_SECONDS = 300.0  # that making calls may take in all, where no time-out says otherwise
_ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_FOREIGN = ("site-packages", "node_modules")
_OTHERS = 400  # files of the project that are read for calls of a constructor

Prepared = Mapping[str, Replayer | None]


def capture(request: Request, folder: Path, prepared: Prepared, problems: list[str]) -> tuple[Run, Records]:
    """Run the command with probes at the sites. Raises `CommandNotFoundError`."""
    plan = Plan(
        str(folder / "capture"),
        _targets(request.sites, prepared),
        search_seconds=request.search_seconds,
        fixes=_fixed_files(request, folder),
    )
    ending = run_command(
        request.command, plan, timeout=request.timeout, output=request.output, directory=request.directory
    )
    records = read_records(folder / "capture")
    problems += [f"a damaged record was left out: {name}" for name in records.damaged]
    for path in sorted((folder / "capture").glob("unguarded-*.json")):
        error = json.loads(path.read_text(encoding="utf-8"))["error"]
        problems.append(f"the losses of a process were not watched: {error}")
    return Run(ending, records.losses), records


def cut_short(run: Run, records: Records, request: Request) -> list[str]:
    """What is to be said of a command that did not come to its own good end."""
    ending = run.ending
    if ending.timed_out:
        return [f"the command was stopped after {request.timeout:g} s; sites reached until then count"]
    if ending.interrupted:
        return ["interrupted; sites reached until then count"]
    if not ending.status:
        return []
    said = f"the command ended with status {ending.status}; sites reached until then count"
    other = None if records.sites else elsewhere(request.command)
    return [said, *([other] if other else [])]


def make(request: Request, folder: Path, prepared: Prepared, problems: list[str]) -> Records:
    """Call the functions around the sites with made arguments, in a process of its own."""
    seconds = request.timeout or _SECONDS
    fixes = _fixed_files(request, folder)
    files: dict[str, list[dict[str, object]]] = {}
    for site in request.sites:
        row = {"id": site.id, "row": site.probe_span.start.row, "fixed": fixes.get(site.id)}
        files.setdefault(resolved(site.filename), []).append(row)
    jobs = folder / "jobs.json"
    common = Path(os.path.commonpath(files))
    near = common if common.is_dir() else common.parent
    root = _root(near)
    plan = Plan(str(folder / "made"), _targets(request.sites, prepared), definitions=os.path.realpath(root))
    document = {
        "folder": plan.folder,
        "seconds": seconds,
        "files": files,
        "root": str(root),
        "others": _others(near, root),
    }
    jobs.write_text(json.dumps(document), encoding="utf-8")
    with open(folder / "made.log", "wb") as log:
        ending = run_command(
            (sys.executable, "-m", "stablelint.runtime.verify.witness", str(jobs)),
            plan,
            timeout=seconds + 10.0,
            output=log.fileno(),
            directory=folder,
        )
    if ending.interrupted:
        problems.append("interrupted; calls that were made until then count")
    elif ending.status and not ending.timed_out:
        said = (folder / "made.log").read_text(encoding="utf-8", errors="replace").splitlines()
        problems.append(f"no calls could be made: {said[-1] if said else f'status {ending.status}'}")
    return read_records(folder / "made")


def _root(near: Path) -> Path:
    """The folder of the project that a folder is of, as far as its packages and its version control tell.

    What keeps a whole home, or all temporary files, under version control is no project.
    """
    root = near
    while (root / "__init__.py").exists():
        root = root.parent
    wide = {Path.home().resolve(), Path(tempfile.gettempdir()).resolve()}
    inside = (root, *takewhile(lambda each: each not in wide, root.parents))
    return next((each for each in inside if any((each / name).exists() for name in _ROOTS)), root)


def _others(near: Path, root: Path) -> list[str]:
    """Files of the project in which calls of a constructor may stand, and settings: those that are near first."""
    return list(islice(dict.fromkeys([*_texts(near), *_texts(root)]), _OTHERS))


def _texts(top: Path) -> Iterator[str]:
    """Code and pages, the first of a folder, without those of environments."""
    for folder, inner, names in islice(os.walk(top), _OTHERS):
        foreign = "pyvenv.cfg" in names
        inner[:] = sorted(name for name in inner if name[0] != "." and name not in _FOREIGN and not foreign)
        if not foreign:
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".py", ".md")))


def _fixed_files(request: Request, folder: Path) -> dict[str, str]:
    """For each site with a fix a file that holds the whole text with that fix alone."""
    found: dict[str, str] = {}
    held = folder / "fixed"
    held.mkdir(exist_ok=True)
    for number, site in enumerate(request.sites):
        texts = (
            request.compose(frozenset({site.id}))
            if request.compose and site.has_fix and not site.across
            else {}
        )
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
