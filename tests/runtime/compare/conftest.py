"""Commands of `compare` that run in forks."""

from pathlib import Path

import pytest


@pytest.fixture
def quick(forked: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Commands run in forks, in this folder."""
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
