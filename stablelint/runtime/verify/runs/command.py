"""Run the user's command as a child process under a plan."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stablelint.runtime.process.launch import environment
from stablelint.runtime.process.words import CommandNotFoundError, command_line
from stablelint.runtime.verify.probe.plan import Plan

_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: exit status (negative: killed by that signal), and why it was stopped, if so."""

    status: int
    seconds: float
    timed_out: bool = False
    interrupted: bool = False

    @property
    def failed(self) -> bool:
        """Whether it did not come to its own good end."""
        return self.status != 0 or self.timed_out or self.interrupted


def elsewhere(command: Sequence[str]) -> str | None:
    """What to say of a command that is found on the path, though this environment has one of that name."""
    found, beside = shutil.which(command[0]), Path(sys.executable).parent / command[0]
    if found is None or os.sep in command[0] or not beside.is_file() or os.path.samefile(found, beside):
        return None
    return f"`{command[0]}` is {found}; that of this environment is {beside}"


def run_command(
    command: Sequence[str],
    plan: Plan,
    *,
    timeout: float | None = None,
    output: int | None = None,
    directory: Path | None = None,
) -> Ending:
    """Run `command` under `plan` and wait for it; Ctrl-C and a time-out let it write what it has.

    `output` is a file descriptor for its standard output and error (None: those of this process). Raises
    `CommandNotFoundError`.
    """
    folder = Path(plan.folder)
    folder.mkdir(parents=True, exist_ok=True)
    plan_file = folder / "plan.json"
    plan.for_processes().write(plan_file)
    started = time.perf_counter()
    try:
        # A hash seed, or each run would walk its sets in another order.
        process = subprocess.Popen(
            command_line(command),
            env={"PYTHONHASHSEED": "0", **environment(plan_file)},
            cwd=directory,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandNotFoundError(f"cannot run {command[0]}: {error.strerror}") from error
    timed_out = interrupted = False
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        status = _stop(process)
    except KeyboardInterrupt:
        interrupted = True
        status = _stop(process)
    return Ending(status, time.perf_counter() - started, timed_out, interrupted)


def _stop(process: subprocess.Popen[bytes]) -> int:
    """End the process and its children: asked first, then made to."""
    for step, seconds in (
        (signal.SIGINT, _GRACE_SECONDS),
        (signal.SIGTERM, _GRACE_SECONDS),
        (signal.SIGKILL, None),
    ):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            continue
    return process.wait()
