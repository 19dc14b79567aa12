"""The table of checks in `docs/audit.md`, from the checks themselves.

python benchmarks/audit_checks.py docs/audit.md
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import page

from stablelint.runtime.audit.outcome import all_checks


def table() -> str:
    """One row a check, family by family."""
    lines = ["| family | check | holds where it passes | needs |", "| --- | --- | --- | --- |"]
    for family, checks in groupby(all_checks(), key=lambda one: one.family):
        lines += [f"| {family} | `{one.name}` | {one.sentence} | {one.needs} |" for one in checks]
    return "\n".join(lines)


if __name__ == "__main__":
    page.fill(Path(sys.argv[1]), "checks", table())
