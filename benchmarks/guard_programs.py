"""Programs as users write them, each run as a process under `stablelint run --keep-going`, and judged.

A program is a file, a notebook, or a folder with a `__main__.py`. Its first line may say how it is run: `# $ python -`
(on standard input) or `# $ python -c`. A mark reads `# <- EXPRESSION | ORIGIN`; a program without one must run through
unnoticed. Judged are the expression with its line (and cell), the origin, that operands and a fix with its proof or a
reason are told, and that standard output and exit code are those of the program run by itself (1 in place of 0 where
something was found). A program whose libraries are not installed is left out, and said to be.

Usage: python benchmarks/guard_programs.py [NAME ...]
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stablelint.report.run.text import deciding

FOLDER = Path(__file__).parent / "guard_programs"
LIBRARIES = {
    "lightning": ["lightning"],
    "transformers": ["transformers", "accelerate"],
    "IPython": ["IPython"],
}


@dataclass(frozen=True)
class Program:
    """One program of the folder."""

    path: Path

    @cached_property
    def texts(self) -> list[str]:
        """Its files, or the cells of its notebook."""
        if self.path.is_dir():
            return [one.read_text() for one in sorted(self.path.glob("*.py"))]
        text = self.path.read_text()
        if self.path.suffix != ".ipynb":
            return [text]
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]

    @property
    def missing(self) -> list[str]:
        """Libraries that it needs and that are not installed."""
        text = "\n".join(self.texts)
        used = [name for name in LIBRARIES if f"import {name}" in text or f"from {name}" in text]
        needed = [one for name in used for one in LIBRARIES[name]]
        if self.path.suffix == ".ipynb":
            needed += ["IPython", "nbformat"]
        return [name for name in needed if find_spec(name) is None]

    @property
    def command(self) -> tuple[list[str], str | None]:
        """How it is run, and what it is given on standard input."""
        text = self.texts[0]
        if text.startswith("# $ python -c"):
            return [sys.executable, "-c", text], None
        if text.startswith("# $ python -"):
            return [sys.executable, "-"], text
        if self.path.suffix == ".ipynb":
            return [sys.executable, "-m", "IPython", "--colors=nocolor", str(self.path)], None
        return [sys.executable, str(self.path)], None

    @property
    def mark(self) -> tuple[int, str, str] | None:
        """Row, expression and origin that it is marked with."""
        return next(self._marks(), None)

    def _marks(self) -> Iterator[tuple[int, str, str]]:
        for text in self.texts:
            for row, line in enumerate(text.splitlines(), 1):
                _, found, rest = line.partition("# <- ")
                if found:
                    expression, _, origin = rest.rpartition(" | ")
                    yield row, expression, origin


def programs() -> list[Program]:
    """Every program of the folder."""
    found = [
        *FOLDER.glob("*.py"),
        *FOLDER.glob("*.ipynb"),
        *(one.parent for one in FOLDER.glob("*/__main__.py")),
    ]
    return [Program(path) for path in sorted(found)]


def judged(program: Program) -> dict[str, bool]:
    """What is right about the report on a program."""
    command, given = program.command
    plain = subprocess.run(command, input=given, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["run", "--keep-going", "--output-format", "json", "--output-file", str(report), "--"]
        guarded = subprocess.run(
            [sys.executable, "-m", "stablelint", *words, *command],
            input=given,
            capture_output=True,
            text=True,
        )
        told = json.loads(report.read_text())
    same = {"stdout": plain.stdout == guarded.stdout}
    if program.mark is None:
        return {"silent": told["event"] is None, **same, "exit code": guarded.returncode == plain.returncode}
    return {
        **verdict(told, *program.mark),
        **same,
        "exit code": guarded.returncode == (plain.returncode or 1),
    }


def verdict(told: dict[str, Any], row: int, expression: str, origin: str) -> dict[str, bool]:
    """What is right about a report on an expression with its row and origin."""
    event = told["event"] or {"location": None, "operands": [], "origin": None, "expression": None}
    named = [operand for operand in event["operands"] if not operand["name"].startswith("operand")]
    proof = told["verification"]
    return {
        "line": (event["location"] or {"row": None})["row"] == row,
        "expression": event["expression"] == expression,
        "origin": event["origin"] == origin,
        "operands named": bool(named) and len(named) == len(event["operands"]),
        "fix proved or why not": bool((proof and deciding(proof)["finite"]) or told.get("fix_withheld")),
    }


def main() -> int:
    """Prints a line a program and the sums. Returns 1 where a line, an output or an exit code is wrong."""
    wanted = set(sys.argv[1:])
    sums: dict[str, list[bool]] = {}
    for program in programs():
        name = program.path.stem
        if wanted and name not in wanted:
            continue
        if program.missing:
            print(f"{name:24}", "left out: needs " + ", ".join(program.missing), flush=True)
            continue
        found = judged(program)
        wrong = [name for name, right in found.items() if not right]
        print(f"{name:24}", "all right" if not wrong else "not: " + ", ".join(wrong), flush=True)
        for name, right in found.items():
            sums.setdefault(name, []).append(right)
    for name, values in sums.items():
        print(f"{name:24} {sum(values)} of {len(values)}")
    return int(not all(all(sums.get(name, [])) for name in ("line", "silent", "stdout", "exit code")))


if __name__ == "__main__":
    sys.exit(main())
