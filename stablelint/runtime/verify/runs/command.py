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
from pathlib import Path

from stablelint.runtime.process.launch import started
from stablelint.runtime.verify.outcome import Run
from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.runs.collect import failed_tests, series_of

_GRACE_SECONDS = 10.0


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
) -> Run:
    """Run `command` under `plan` and wait for it; Ctrl-C and a time-out let it write what it has.

    `output` is a file descriptor for its standard output and error (None: those of this process). Raises
    `CommandNotFoundError`.
    """
    folder = Path(plan.folder)
    folder.mkdir(parents=True, exist_ok=True)
    # or each run would order its sets anew
    seeded = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    began = time.perf_counter()
    process = started(
        command, plan.for_processes(), directory=directory, output=output, extra=seeded, apart=True
    )
    stopped = None
    try:
        status = process.wait(timeout)
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
