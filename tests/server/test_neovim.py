"""A session in a real editor: open a faulty file, see the finding, ask for the range, fix, undo."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.editor import FAULTY

SESSION = Path(__file__).parent / "session.lua"


@pytest.mark.skipif(shutil.which("nvim") is None, reason="neovim is not installed")
def test_a_session_in_neovim(tmp_path: Path) -> None:
    faulty, record = tmp_path / "loss.py", tmp_path / "record.json"
    faulty.write_text(FAULTY)
    environment = os.environ | {
        "FAULTY": str(faulty),
        "RECORD": str(record),
        "STABLELINT_PYTHON": sys.executable,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    subprocess.run(
        ["nvim", "--clean", "--headless", "-n", "-c", f"luafile {SESSION}"],
        env=environment,
        timeout=60,
        check=True,
        capture_output=True,
    )
    session = json.loads(record.read_text())
    assert "problem" not in session, session
    [finding] = session["opened"]
    assert (finding["code"], finding["line"], finding["column"]) == ("SL202", 6, 13)
    assert session["hover"].startswith("**[0, 1]**")
    assert "underflow" in session["hover"]
    assert session["titles"][0] == "SL202: log_softmax never leaves the logarithm"
    assert "chosen = F.log_softmax(logits, dim=-1)" in session["fixed"]
    assert session["undone"] == FAULTY
    assert session["again"] == session["opened"]
