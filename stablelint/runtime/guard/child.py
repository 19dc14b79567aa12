"""The guard inside a process of a guarded command: reports go to the plan's folder, one file each."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import mmap
import os
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

from stablelint.runtime.crash.arm import arm
from stablelint.runtime.guard.api import Guard, Report
from stablelint.runtime.guard.reporting.cause import Adviser
from stablelint.runtime.guard.reporting.event import NonFiniteError
from stablelint.runtime.process.start import COUNTER, Plan, named
from stablelint.runtime.process.traceback import before_shown

_PATIENCE_SECONDS = 10.0
_NAME = f"{NonFiniteError.__module__}.{NonFiniteError.__qualname__}"


def start(plan: Plan) -> Guard:
    """Guard this process from now to its end.

    The plan's options: `keep_going` after an event, the `adviser` ("module:name") that looks up the project's `rules`,
    and what the `guard` itself takes.
    """
    numbers = itertools.count()  # a step may have two events
    guard = Guard(
        adviser=_adviser(plan),
        on_event="raise" if not plan.options["keep_going"] else _pass,
        shown=True,
        on_warned=lambda warned: sys.stderr.write(f"stablelint: {warned.describe()}\n"),
        **plan.options["guard"],
        on_report=lambda report: _write(plan, report, next(numbers)),
    )
    guard.watch.on_step = _counter(Path(plan.folder) / f"steps-{os.getpid()}")
    guard.start()
    atexit.register(_summarise, plan, guard)
    arm(plan)
    _shorten_traceback()
    return guard


def _pass(_: object) -> None:
    """The report has been written; the command goes on."""


def _adviser(plan: Plan) -> Adviser | None:
    try:
        make = named(plan.options["adviser"])
    except ImportError:  # the command's environment has torch, but not all of this package's needs
        return None
    return cast(Adviser, make(rules=tuple(Path(folder) for folder in plan.options["rules"])))


def _write(plan: Plan, report: Report, number: int) -> None:
    plan.tell("event", {"process": os.getpid(), **report.as_json()}, f"-{report.event.step}-{number:04}")
    if report.event.rank is not None and not plan.options["keep_going"]:
        _wait_for_ranks(Path(plan.folder), report.event.step)


def _wait_for_ranks(folder: Path, step: int) -> None:
    """Let the other ranks of this machine report first: a launcher ends them all when one stops."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until and len(list(folder.glob(f"event-*-{step}-*.json"))) < ranks:
        time.sleep(0.05)


def _counter(path: Path) -> Callable[[int, float | None, float | None], None] | None:
    """Counts steps in a file's memory, which outlives a process that is killed."""
    try:
        with open(path, "w+b") as file:
            file.truncate(COUNTER.size)
            memory = mmap.mmap(file.fileno(), COUNTER.size)
    except OSError:
        return None
    numbers = itertools.count(1)

    def count(_: int, __: float | None, ___: float | None) -> None:
        COUNTER.pack_into(memory, 0, next(numbers))

    return count


def _summarise(plan: Plan, guard: Guard) -> None:
    with contextlib.suppress(Exception):  # the process ends, whatever it has left behind
        guard.finish()
    plan.tell("process", {"process": os.getpid(), "steps": guard.watch.steps, "events": len(guard.events)})


def _shorten_traceback() -> None:
    """An event that ends the command is shown by the report, not as a traceback."""
    run = BaseProcess.run

    def run_quietly(process: BaseProcess) -> None:
        try:
            run(process)
        except NonFiniteError:
            raise SystemExit(1) from None  # the exit code that any exception gives a child

    before_shown(lambda error: None if _tells_of_an_event(error) else error)
    setattr(BaseProcess, "run", run_quietly)  # noqa: B010


def _tells_of_an_event(error: BaseException) -> bool:
    """Whether this is an event, or the error by which a launcher hands on a child's traceback that ends in one."""
    return isinstance(error, NonFiniteError) or f"\n{_NAME}: " in str(error)
