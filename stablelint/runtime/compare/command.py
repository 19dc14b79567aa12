"""Running a command under the recorder, and reading what its processes wrote."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stablelint.runtime.compare.recording import remedies
from stablelint.runtime.compare.recording.recorder import Options
from stablelint.runtime.compare.recording.trace import Trace
from stablelint.runtime.process.launch import command_line, run_process
from stablelint.runtime.process.start import Plan, reports_of

LIMIT = 512 << 20
"""Bytes that a trace may take on disk."""
_TAIL = 12


class CommandFailedError(Exception):
    """A run that cannot be compared; `tail` is the end of what the command printed."""

    def __init__(self, message: str, tail: str = "") -> None:
        super().__init__(message)
        self.tail = tail


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to run the command: where, under which remedies, in which precision, on which device."""

    command: tuple[str, ...]
    label: str
    directory: Path | None = None
    remedies: tuple[str, ...] = ()
    dtype: str | None = None
    device: str | None = None
    options: Options = field(default_factory=Options)
    limit: int = LIMIT
    environment: tuple[tuple[str, str], ...] = ()
    began: int = field(default_factory=time.time_ns)  # before the first run

    def under(self, *names: str, label: str | None = None) -> Setup:
        """The same with more remedies."""
        return replace(self, remedies=(*self.remedies, *names), label=label or self.label)


@dataclass(slots=True)
class Run:
    """A run that was recorded: one trace for each process that computed with torch."""

    setup: Setup
    folder: Path
    status: int
    seconds: float
    traces: list[Trace] = field(default_factory=list)

    @property
    def output(self) -> str:
        """What the command printed."""
        return (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")

    def captured(self) -> dict[str, Any] | None:
        """The operation that was to be kept, with the path of its results."""
        return next(iter(reports_of(self.folder, "captured")), None)


def record(setup: Setup, folder: Path) -> Run:
    """Run the command and record it into `folder`. Raises CommandNotFoundError and CommandFailedError."""
    run = launch(setup, folder, plan_of(setup, folder))
    run.traces = [Trace(path) for path in sorted(folder.glob("trace-*.jsonl")) if _has_records(path)]
    if not run.traces and setup.options.capture is None:
        raise CommandFailedError(why_empty(run.folder))
    return run


def launch(setup: Setup, folder: Path, plan: Plan) -> Run:
    """Run the command under a plan, what it prints in a file. Raises CommandNotFoundError and CommandFailedError."""
    folder.mkdir(parents=True)
    started = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        status = run_process(
            (*remedies.prefix_of(setup.remedies), *command_line(setup.command)),
            plan,
            directory=setup.directory,
            output=output,
            extra={**dict(setup.environment), **remedies.environment_of(setup.remedies)},
        )
    run = Run(setup, folder, status, time.monotonic() - started)
    if status != 0:
        lines = run.output.strip().splitlines()[-_TAIL:]
        why = f": {lines[-1].strip()}" if lines else ""
        raise CommandFailedError(f"{setup.label}: failed with exit code {status}{why}", "\n".join(lines))
    return run


def plan_of(
    setup: Setup, folder: Path, child: str = "stablelint.runtime.compare.recording.child", **more: Any
) -> Plan:
    """What the processes of a run are told: the module that starts in them, and `more` options of it."""
    options = replace(setup.options, fill=setup.options.fill or "memory" in setup.remedies)
    return Plan(
        str(folder.absolute()),
        child=child,
        early="stablelint.runtime.compare.recording.sources:install",
        options={
            "remedies": list(setup.remedies),
            "dtype": setup.dtype,
            "began": setup.began,
            "device": setup.device,
            "record": asdict(options),
            "limit": setup.limit,
            **more,
        },
    )


def pairs_of(first: Run, second: Run) -> list[tuple[Trace, Trace]]:
    """The traces of two runs, process by process. Raises CommandFailedError where they cannot be compared."""
    if len(first.traces) != len(second.traces):
        counts = f"{len(first.traces)} and {len(second.traces)}"
        raise CommandFailedError(f"the runs have different numbers of processes that use torch: {counts}")
    pairs = list(zip(first.traces, second.traces, strict=True))
    if any(one.facts.get("digest") != other.facts.get("digest") for one, other in pairs):
        raise CommandFailedError(
            "one of the runs has xxhash and the other has not: their digests are not comparable"
        )
    return pairs


def _has_records(path: Path) -> bool:
    with path.open(encoding="utf-8") as file:
        return any(line.startswith("[") for line in file)


def why_empty(folder: Path) -> str:
    """Why no process of a run told anything."""
    for problem in reports_of(folder, "unguarded"):
        return f"nothing was recorded: {problem['error']}"
    for missing in reports_of(folder, "missing"):
        return f"nothing was recorded: {missing['python']} has no torch"
    return "nothing was recorded: no operation of torch ran in the steps that were asked for"
