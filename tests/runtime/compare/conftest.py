"""Runs of small programs without the import of torch that each would pay for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).with_name("fork_server.py")


class Servers:
    """Three processes that fork: two with hash seeds of their own, taken in turn, and one with the seed 0."""

    def __init__(self) -> None:
        self._all: dict[str, subprocess.Popen[str]] = {}
        self._turn = cycle(("a", "b"))

    def run(self, command: Any, plan: Any, *, directory: Any = None, output: Any, extra: Any = None) -> int:
        server = self._server("zero" if "PYTHONHASHSEED" in extra else next(self._turn))
        job = {
            "command": list(command),
            "plan": asdict(plan),
            "folder": str(directory or os.getcwd()),
            "output": output.name,
            "extra": extra,
        }
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    def close(self) -> None:
        for server in self._all.values():
            assert server.stdin is not None
            server.stdin.close()
            server.wait()

    def _server(self, name: str) -> subprocess.Popen[str]:
        if name not in self._all:
            seed = {"PYTHONHASHSEED": "0" if name == "zero" else "random"}
            self._all[name] = subprocess.Popen(
                [sys.executable, str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **seed, "OMP_NUM_THREADS": "1"},
            )
        return self._all[name]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    found = Servers()
    yield found
    found.close()


@pytest.fixture
def quick(servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Commands run in forks, in this folder."""
    monkeypatch.setattr("stablelint.runtime.compare.command.run_process", servers.run)
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
