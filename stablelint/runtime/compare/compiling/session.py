"""`stablelint compare --compiled`: the command as it is written and as it is compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stablelint.runtime.compare.command import CommandFailedError, Run, Setup, launch, plan_of, why_empty
from stablelint.runtime.compare.outcome import Cause, Comparison, Difference, RunSummary, Side
from stablelint.runtime.compare.parting.align import Kind
from stablelint.runtime.compare.session import Session, losses_agree
from stablelint.runtime.plain import plural
from stablelint.runtime.process.start import reports_of

_CHILD = "stablelint.runtime.compare.compiling.child"
_PATIENCE = 300.0  # seconds for the script to show what it shows


def compare_compiled(session: Session, setup: Setup, backend: str | None, script: Path) -> Comparison:
    """Eager against compiled: the first operation that the compiler makes something else of, cut down to `script`.

    `backend` is a registered name or "module:function"; None is the command's own, or inductor. Draws are those of
    eager. Raises CommandNotFoundError and CommandFailedError.
    """
    setup = replace(setup, remedies=("seed", "hash"))
    plan = {"backend": backend, "script": str(script.absolute())}
    eager = _run(session, replace(setup, label="eager"), plan | {"eager": True})
    compiled = _run(session, replace(setup, label="compiled"), plan | {"eager": False})
    runs = _summary_of(eager), _summary_of(compiled)
    for fault in reports_of(compiled.folder, "fault"):
        return _faulty(fault, runs, script)
    reports = reports_of(compiled.folder, "compiled")
    graphs, judged = (sum(one[key] for one in reports) for key in ("graphs", "judged"))
    if not judged:
        raise CommandFailedError("nothing was compiled: no graph ran in the steps that were looked at")
    if losses_agree(runs, 1e-3, 1e-5):
        how = f"{plural(graphs, 'graph')}, {judged} calls judged against float64"
        text = f"compiled and eager agree within rounding: {how}"
        return Comparison("compiled", True, text, runs)
    text = "every graph that was judged is within rounding, yet the losses are apart"
    return Comparison("compiled", False, text, runs, notes=("graphs are judged in the first two steps",))


def _run(session: Session, setup: Setup, plan: Mapping[str, Any]) -> Run:
    folder = session.next_folder(setup.label)
    run = launch(setup, folder, plan_of(setup, folder, _CHILD, **plan))
    if not reports_of(folder, "compiled"):
        raise CommandFailedError(why_empty(folder))
    return run


def _summary_of(run: Run) -> RunSummary:
    reports = reports_of(run.folder, "compiled")
    losses = tuple((int(step), float(value)) for one in reports for step, value in one["losses"])
    steps = max(int(one["steps"]) for one in reports)
    return RunSummary(run.setup.label, steps, 0, False, losses, reports[0]["facts"])


def _faulty(fault: dict[str, Any], runs: tuple[RunSummary, RunSummary], script: Path) -> Comparison:
    """The fault that the compiled process reported."""
    found = fault["difference"]
    sides = {name: Side(**found[name]) for name in ("first", "second")}
    difference = Difference(**{**found, **sides, "kind": Kind(found["kind"])})
    graph = {"operations": len(fault["graph"]), "graph": fault["graph"]}
    shown = {"path": str(script), **graph, "shows": _shows(script)}
    cause = Cause(**fault["cause"])
    return Comparison("compiled", False, difference.summary, runs, difference, cause, script=shown)


def _shows(script: Path) -> bool:
    """Whether the script, run by itself, ends as it does where it sees the difference."""
    try:
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 1 and "differs" in done.stdout
