"""Commands of `compare` that run in forks."""

from pathlib import Path

import pytest

from tests.forks import Servers


@pytest.fixture
def quick(servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Commands run in forks, in this folder."""
    monkeypatch.setattr("stablelint.runtime.compare.command.run_process", servers.run)
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
