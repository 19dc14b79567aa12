"""The extension for VS Code is type-checked and bundled, where npm and what it loads are to be had."""

import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[1] / "editors" / "vscode"


def _npm(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_the_extension_is_typed_and_built(tmp_path: Path) -> None:
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "out"))
    _npm(folder, "uninstall", "@vscode/vsce", "--package-lock-only", "--no-audit")  # which alone packs it
    if _npm(folder, "ci", "--no-audit", "--no-fund").returncode:
        pytest.skip("npm could not load what the extension is built with")
    for script in ("check", "build"):
        done = _npm(folder, "run", script)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "stablelint.command" in (folder / "out" / "extension.js").read_text("utf-8")
