"""Runs a command and measures its wall time, and the CPU time and peak memory of all its processes."""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

FIRST_SAMPLES = 50  # short runs need close samples, long ones must not be slowed by them
CLOSE_SECONDS, WIDE_SECONDS = 0.01, 0.1
MEMORY_LIMIT_MIB = 3000.0  # a run that needs more has gone astray and is killed, before the machine suffers
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took; `peak_mib` is NaN where the system does not tell the memory of a process."""

    wall: float
    cpu: float
    peak_mib: float
    code: int
    stdout: str
    stderr: str


def run(command: list[str], cwd: Path, timeout: float = 1800.0) -> Cost:
    """Runs to the end, or kills it after `timeout` seconds or above the memory limit: exit code -1."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # this checkout, not what is installed
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # so that its own workers can be ended with it
        )
        watch = _Watch(process.pid, start + timeout)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        watch.finish()
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen need not wait again
        out.seek(0)
        err.seek(0)
        code = -1 if watch.killed else process.returncode
        return Cost(wall, usage.ru_utime + usage.ru_stime, watch.peak_mib, code, out.read(), err.read())


def best_of(repeats: int, command: list[str], cwd: Path) -> Cost:
    """The run with the least wall time: what else the machine does only ever adds."""
    return min((run(command, cwd) for _ in range(repeats)), key=lambda cost: cost.wall)


class _Watch(threading.Thread):
    """Samples the memory of a process group's tree, and ends the group when it passes its limits.

    Memory is the proportional set size, so that pages which processes share count once.
    """

    def __init__(self, pid: int, deadline: float) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._deadline = deadline
        self.killed = False
        self._stop_event = threading.Event()
        self.peak_mib = float("nan")

    def run(self) -> None:
        for sample in itertools.count():
            kib = sum(_pss_kib(pid) for pid in _tree(self._pid))
            if kib and not self.peak_mib >= kib / 1024:
                self.peak_mib = kib / 1024
            if kib / 1024 > MEMORY_LIMIT_MIB or time.perf_counter() > self._deadline:
                self.killed = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._pid, signal.SIGKILL)
            if self._stop_event.wait(CLOSE_SECONDS if sample < FIRST_SAMPLES else WIDE_SECONDS):
                return

    def finish(self) -> None:
        self._stop_event.set()
        self.join()


def _tree(root: int) -> list[int]:
    """The process and all its descendants that are alive; empty where there is no /proc."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            waiting += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _pss_kib(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    except (OSError, ValueError):
        return 0
