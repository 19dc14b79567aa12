"""The README shows what the current version prints, and its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_output_in_the_readme_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/refresh.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_make_targets_in_the_readme_exist() -> None:
    named = set(re.findall(r"^\$ make (\w+)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
