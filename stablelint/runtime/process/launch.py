"""The user's command as a child, unchanged, with what a plan names armed in each of its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO, Any

from stablelint.runtime.process.start import COUNTER, VARIABLE, Plan, reports_of

_STARTUP = Path(__file__).parent / "startup"
_NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_LONGEST_WAIT = 0.5  # seconds until the command is looked at, whatever happens
_FORWARDED = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@dataclass(frozen=True, slots=True)
class Ending:
    """How the command ended: its exit code (128 + the signal that ended it), and what its processes reported."""

    code: int
    signal: str | None  # that ended the command, by its name
    reports: tuple[dict[str, Any], ...]
    processes: tuple[dict[str, Any], ...]
    without_torch: tuple[str, ...] = ()  # the interpreters that were asked for torch and have none
    unguarded: tuple[str, ...] = ()  # why the guard did not start in a process that imported torch
    crashes: tuple[dict[str, Any], ...] = ()  # exceptions that ended processes, explained

    @property
    def saw_torch(self) -> bool:
        """Whether any process of the command imported torch."""
        return bool(self.processes or self.reports)

    @property
    def steps(self) -> int:
        """Optimizer steps seen in all processes."""
        return sum(int(process.get("steps", 0)) for process in self.processes)

    def as_json(self) -> dict[str, Any]:
        """How the command ended, as ``run --output-format json`` prints it."""
        return {"exit_code": self.code, "signal": self.signal, "steps": self.steps}


def run_guarded(command: Sequence[str], **options: Any) -> Ending:
    """Run `command` under the guard, whose child takes the `options`, and wait for it. Raises CommandNotFoundError.

    Standard input, output and error, the arguments and the working folder are the command's own; signals
    sent to this process reach it.
    """
    plan = Plan("", child="stablelint.runtime.guard.child", options=options)
    kinds = ("event", "process", "missing", "unguarded", "crash")
    code, (reports, processes, missing, unguarded, crashes) = run_planned(command, plan, kinds)
    return Ending(
        code,
        _name_of_signal(code),
        _distinct(reports),
        processes,
        tuple(dict.fromkeys(str(one["python"]) for one in missing)),
        tuple(dict.fromkeys(str(one["error"]) for one in unguarded)),
        crashes,
    )


def run_planned(
    command: Sequence[str], plan: Plan, kinds: Sequence[str]
) -> tuple[int, list[tuple[dict[str, Any], ...]]]:
    """Run `command` with `plan` in each of its processes; its exit code, and what they reported, by kind.

    Raises CommandNotFoundError.
    """
    with tempfile.TemporaryDirectory(prefix="stablelint-run-") as folder:
        status = run_process(command, replace(plan, folder=folder))
        reports = {kind: tuple(reports_of(Path(folder), kind)) for kind in kinds}
        if "process" in reports:
            reports["process"] = (*reports["process"], *_cut_short(Path(folder), reports["process"]))
    return (status if status >= 0 else 128 - status), list(reports.values())


def _cut_short(folder: Path, ended: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Processes that could not tell of their end, by the steps that they had counted."""
    known = {str(process.get("process")) for process in ended}
    for path in sorted(folder.glob("steps-*")):
        number = path.name.partition("-")[2]
        with contextlib.suppress(OSError, struct.error):
            if number not in known:
                yield {"process": int(number), "steps": COUNTER.unpack(path.read_bytes())[0], "events": 0}


def _name_of_signal(code: int) -> str | None:
    """The signal that ended the command, by the exit code that a shell makes of it."""
    try:
        return signal.Signals(code - 128).name if code > 128 else None
    except ValueError:
        return None


def run_process(
    command: Sequence[str],
    plan: Plan,
    *,
    directory: Path | None = None,
    output: IO[bytes] | None = None,
    extra: Mapping[str, str] | None = None,
) -> int:
    """Run `command` with `plan` armed in its Python processes; returns its status (negative: the signal that ended it).

    It runs in `directory`, with `extra` variables in its environment; `output` takes what it prints. Signals sent
    to this process reach it. Raises CommandNotFoundError.
    """
    process = started(command, plan, directory=directory, output=output, extra=extra)
    with _forwarding(process):
        return _waited_for(process)


def started(
    command: Sequence[str],
    plan: Plan,
    *,
    directory: Path | None = None,
    output: IO[bytes] | int | None = None,
    extra: Mapping[str, str] | None = None,
    apart: bool = False,
) -> subprocess.Popen[bytes]:
    """The command, as `run_process` starts it; `apart`: no signal of the terminal reaches it."""
    plan_file = Path(plan.folder) / "plan.json"
    plan.write(plan_file)
    try:
        return subprocess.Popen(
            command_line(command),
            env=environment(plan_file) | dict(extra or {}),
            cwd=directory,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            start_new_session=apart,
        )
    except OSError as error:
        raise CommandNotFoundError(f"cannot run {command[0]}: {error.strerror}") from error


def _distinct(reports: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Reports by step; of the ranks that met the same one, that whose own expression is at fault comes first.

    What other ranks took over from it is left out.
    """

    def order(report: Mapping[str, Any]) -> tuple[int, bool, bool]:
        event = report["event"]
        return event["step"], event["origin"] == "unknown", not event["operands"]

    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for report in sorted(reports, key=order):
        event = report["event"]
        own = report["process"] if event["rank"] is None else event["rank"]
        found.setdefault((event["step"], own, event["filename"], str(event["location"])), report)
    return tuple(found.values())


def environment(plan_file: Path) -> dict[str, str]:
    """The environment in which every Python process of the command finds the plan."""
    found = dict(os.environ)
    found[VARIABLE] = str(plan_file)
    path = found.get("PYTHONPATH")
    found["PYTHONPATH"] = os.pathsep.join([str(_STARTUP), *([path] if path else [])])
    return found


@contextmanager
def _forwarding(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """What is sent to this process alone is handed on; for Ctrl-C see `_waited_for`."""

    def hand_on(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    held = {number: signal.signal(number, hand_on) for number in _FORWARDED}
    held[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)


def _waited_for(process: subprocess.Popen[bytes]) -> int:
    """The status with which the command ends. An interrupt that was sent to this process alone is handed on.

    That of a terminal has reached the command as well, and the kernel says which of the two it is.
    """
    wait = getattr(signal, "sigtimedwait", None)
    if wait is None or threading.current_thread() is not threading.main_thread():
        return process.wait()
    numbers = {signal.SIGINT, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        while (status := process.poll()) is None:
            found = wait(numbers, _LONGEST_WAIT)
            if found is not None and found.si_signo == signal.SIGINT and found.si_code <= 0:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)
        return status
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class CommandNotFoundError(Exception):
    """The command does not exist or cannot be started; the message names it."""


def command_line(command: Sequence[str]) -> list[str]:
    """The words to execute: `-m pkg`, `-c code` and a bare script are run by this interpreter.

    `python` stands for the current interpreter where no other is on the path. Raises `CommandNotFoundError`.
    """
    first = command[0]
    if first in ("-m", "-c") or (first.endswith(".py") and Path(first).is_file()):
        return [sys.executable, *command]
    if shutil.which(first) is not None:
        return list(command)
    if first in ("python", "python3"):
        return [sys.executable, *command[1:]]
    beside = Path(sys.executable).parent / first
    if beside.is_file():
        return [str(beside), *command[1:]]
    if Path(first).exists():
        raise CommandNotFoundError(f"cannot run {first}: it is not executable, or not on the path")
    raise CommandNotFoundError(f"no such {'file' if first.endswith('.py') else 'command'}: {first}")
