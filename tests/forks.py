"""Runs of small programs without the import of torch that each would pay for."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from stablelint.runtime.process.launch import command_line
from stablelint.runtime.process.start import Plan

_LONGEST = 120.0  # seconds
_LARGEST = 1 << 18  # bytes of a job
_SEEDED = {"PYTHONHASHSEED": "0"}
SERVER = Path(__file__).with_name("fork_server.py")


@dataclass
class Forked:
    """A program that runs in a fork, as far as it is stopped and asked how it ended."""

    server: "Server"
    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status. Raises TimeoutExpired."""
        try:
            return self.server.answer(timeout)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired((), timeout or 0.0) from error


class Server:
    """A process that has loaded modules and forks for each program.

    The processes of one run of the tests share it: the first that needs it starts it, and ends it.
    """

    def __init__(self, seed: str) -> None:
        name = f"\0stablelint-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}-{seed}"
        self._process = None
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
            asked.bind(name)
            asked.listen()
            self._process = subprocess.Popen(
                [sys.executable, str(SERVER), str(asked.fileno()), *MODULES],
                pass_fds=[asked.fileno()],
                env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            )
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(name)

    def run(self, job: object, output: int) -> Forked:
        """Have a job run, its output going to a descriptor."""
        socket.send_fds(self._socket, [json.dumps(job).encode()], [output])
        return Forked(self, self.answer())

    def answer(self, timeout: float | None = None) -> int:
        """The next number that the process says. Raises TimeoutError."""
        self._socket.settimeout(timeout or _LONGEST)
        return int(self._socket.recv(_LARGEST))

    def close(self) -> None:
        """End the process, where it was started here."""
        self._socket.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


MODULES = (
    "stablelint.runtime.compare.compiling.child",
    "stablelint.runtime.compare.recording.child",
    "stablelint.runtime.guard.child",
    "stablelint.runtime.verify.probe.calls",
    "stablelint.runtime.verify.probe.judge",
    "stablelint.runtime.verify.probe.watch",
    "stablelint.workspace.advice",
)


class Servers:
    """Two processes that fork, one with a hash seed of its own and one with the seed 0, taken in turn."""

    def __init__(self) -> None:
        self._all: dict[str, Server] = {}
        self._turn = cycle(("random", "0"))

    def run(self, command: Sequence[str], plan: Plan, **options: Any) -> int:
        """As `launch.run_process`."""
        return self.started(command, plan, **options).wait()

    @contextmanager
    def running_commands(self) -> Iterator[None]:
        """Within the context the commands of `run`, `compare` and `verify`, and the calls that this makes, run in forks."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("stablelint.runtime.process.launch.run_process", partial(self.run, extra=_SEEDED))
            patch.setattr("stablelint.runtime.compare.command.run_process", self.run)
            patch.setattr("stablelint.runtime.verify.runs.command.started", self.started)
            yield

    def close(self) -> None:
        """End the processes."""
        for server in self._all.values():
            server.close()

    def started(
        self,
        command: Sequence[str],
        plan: Plan,
        *,
        directory: Path | None = None,
        output: Any = None,
        extra: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> Forked:
        """As `launch.started`."""
        seed = "0" if "PYTHONHASHSEED" in (extra or {}) else next(self._turn)
        number = 1 if output is None else output if isinstance(output, int) else output.fileno()
        job = {
            "command": command_line(command),
            "plan": asdict(plan),
            "folder": str(directory or os.getcwd()),
            "apart": apart,
            "environment": {**os.environ, **(extra or {})},
        }
        return self._server(seed).run(job, number)

    def printed(self, program: Path, *words: str) -> str:
        """What a program prints that runs in a fork and in its folder, with nothing that watches it."""
        job = {
            "command": [sys.executable, str(program), *words],
            "plan": None,
            "folder": str(program.parent),
            "apart": False,
            "environment": dict(os.environ),
        }
        with TemporaryFile() as output:
            self._server("0").run(job, output.fileno()).wait()
            output.seek(0)
            return output.read().decode()

    def answered(self, code: str, folder: Path) -> str:
        """The last line that some code prints that runs in a fork, and may import the tests."""
        path = folder / "asked.py"
        path.write_text(f"import sys\nsys.path.insert(0, {str(SERVER.parents[1])!r})\n{code}\n")
        return self.printed(path).splitlines()[-1]

    def _server(self, seed: str) -> Server:
        if seed not in self._all:
            self._all[seed] = Server(seed)
        return self._all[seed]
