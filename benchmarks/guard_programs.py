"""Programs as users write them, each run as a process under `stablelint run --keep-going`, and judged.

A mark reads `# <- EXPRESSION | ORIGIN`; a program without one must run through unnoticed. Judged are the expression
with its line, the origin, that operands and a fix with its proof or a reason are told, and that standard output and
exit code are those of the program run by itself (1 in place of 0 where something was found).

Usage: python benchmarks/guard_programs.py [NAME ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "guard_programs"


def mark_of(path: Path) -> tuple[int, str, str] | None:
    """Row, expression and origin that a program is marked with."""
    for row, line in enumerate(path.read_text().splitlines(), 1):
        _, found, rest = line.partition("# <- ")
        if found:
            expression, _, origin = rest.rpartition(" | ")
            return row, expression, origin
    return None


def judged(path: Path) -> dict[str, bool]:
    """What is right about the report on a program."""
    command = [sys.executable, str(path)]
    plain = subprocess.run(command, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["run", "--keep-going", "--output-format", "json", "--output-file", str(report), "--"]
        guarded = subprocess.run(
            [sys.executable, "-m", "stablelint", *words, *command], capture_output=True, text=True
        )
        told = json.loads(report.read_text())
    mark = mark_of(path)
    event = told["event"]
    same = {"stdout": plain.stdout == guarded.stdout}
    if mark is None:
        return {"silent": event is None, **same, "exit code": guarded.returncode == plain.returncode}
    row, expression, origin = mark
    found = event or {"location": None, "operands": [], "origin": None, "expression": None}
    location = found["location"] or {"row": None}
    named = [operand for operand in found["operands"] if not operand["name"].startswith("operand")]
    return {
        "line": location["row"] == row,
        "expression": found["expression"] == expression,
        "origin": found["origin"] == origin,
        "operands named": bool(named) and len(named) == len(found["operands"]),
        "fix proved": bool(told["verification"] and told["verification"]["finite"]),
        **same,
        "exit code": guarded.returncode == (plain.returncode or 1),
    }


def main() -> int:
    """Prints a line a program and the sums. Returns 1 where a line, an output or an exit code is wrong."""
    paths = sorted(FOLDER.glob("*.py"))
    wanted = set(sys.argv[1:])
    sums: dict[str, list[bool]] = {}
    for path in paths:
        if wanted and path.stem not in wanted:
            continue
        verdict = judged(path)
        wrong = [name for name, right in verdict.items() if not right]
        print(f"{path.stem:18}", "all right" if not wrong else "not: " + ", ".join(wrong), flush=True)
        for name, right in verdict.items():
            sums.setdefault(name, []).append(right)
    for name, values in sums.items():
        print(f"{name:18} {sum(values)} of {len(values)}")
    return int(not all(all(sums.get(name, [])) for name in ("line", "silent", "stdout", "exit code")))


if __name__ == "__main__":
    sys.exit(main())
