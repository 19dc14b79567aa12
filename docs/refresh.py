"""Brings the output that the README shows up to date.

A block is a comment `<!-- $ stablelint check FILE -->` and the fenced text behind it: the command is run in
the repository's folder and its output takes the text's place. With `--check` nothing is written, and the exit
code is 1 if something would be.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- \$ (stablelint [^\n]*?) -->\n```\w*\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)


def refreshed(text: str) -> str:
    """`text` with every block as its command now has it."""
    return _BLOCK.sub(lambda block: f"{block[1]}$ {block[2]}\n{_output(block[2])}{block[4]}", text)


def _output(command: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout


def main() -> int:
    """Refreshes the README, or says whether it is current."""
    before = README.read_text("utf-8")
    after = refreshed(before)
    if before == after:
        return 0
    if "--check" in sys.argv[1:]:
        print("README.md shows old output; `make docs` refreshes it")
        return 1
    README.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
