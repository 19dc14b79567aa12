"""Runs `stablelint check` on an unpacked release and reads its JSON."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import Cost, run

NO_ANSWER = -2  # stands in for the exit code where the output is not the JSON that was asked for


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as a judge sees it. `path` is relative to the release."""

    package: str
    path: str
    row: int
    column: int
    code: str
    message: str
    expression: str
    status: str
    chain: tuple[str, ...]
    discharged_by: str = ""

    @property
    def place(self) -> str:
        """Path and line, the way an editor opens them."""
        return f"{self.path}:{self.row}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What a verdict is remembered by: it outlives moved lines and other releases of the package."""
        return (self.package, self.code, " ".join(self.expression.split()))

    def rank(self, seed: int) -> bytes:
        """A random number of the finding's own, so that a sample of the lowest hardly moves with others."""
        name = "\0".join([str(seed), self.package, self.path, self.code, *self.key])
        return hashlib.blake2b(name.encode(), digest_size=8).digest()


def check(package: str, tree: Path, *options: str) -> tuple[list[Finding], Cost]:
    """Findings at default settings plus `options`, and what the run cost.

    An exit code other than 0, 1, 2, or a traceback, is left to the caller: it stands in the cost.
    """
    command = [sys.executable, "-m", "stablelint", "check", "--output-format", "json", *options, "."]
    cost = run(command, tree)
    try:
        items = json.loads(cost.stdout)
    except json.JSONDecodeError:
        return [], replace(cost, code=NO_ANSWER)
    sources: dict[Path, list[str]] = {}
    return [_finding(package, tree, item, sources) for item in items], cost


def crashed(cost: Cost) -> bool:
    """Whether the tool itself failed, on the whole or on a file, as opposed to a file that is no Python."""
    return cost.code not in (0, 1, 2) or "Traceback (" in cost.stderr or "internal error" in cost.stderr


def problems(cost: Cost) -> list[str]:
    """What the tool said it could not do, a line each."""
    return [line for line in cost.stderr.splitlines() if line.startswith("error")]


def _finding(package: str, tree: Path, item: Mapping[str, Any], sources: dict[Path, list[str]]) -> Finding:
    path = Path(item["filename"])
    path = path if path.is_absolute() else tree / path
    if path not in sources:
        sources[path] = path.read_text(encoding="utf-8", errors="replace").splitlines()
    start, end = item["location"], item["end_location"]
    return Finding(
        package=package,
        path=path.resolve().relative_to(tree.resolve()).as_posix(),
        row=start["row"],
        column=start["column"],
        code=item["code"],
        message=item["message"],
        expression=_cut(sources[path], start, end),
        status=item.get("status", ""),
        chain=tuple(_step(step, path, tree) for step in item.get("derivation", ())),
        discharged_by=item.get("discharged_by") or "",
    )


def _cut(lines: list[str], start: Mapping[str, int], end: Mapping[str, int]) -> str:
    chosen = lines[start["row"] - 1 : end["row"]]
    if not chosen:
        return ""
    chosen[-1] = chosen[-1][: end["column"] - 1]
    chosen[0] = chosen[0][start["column"] - 1 :]
    return "\n".join(chosen)


def _step(step: Mapping[str, Any], path: Path, tree: Path) -> str:
    """One link of the chain; its file is named when it is another than the finding's."""
    place = f"line {step['location']['row']}"
    if Path(step["filename"]).resolve() != path.resolve():
        place = f"{Path(step['filename']).resolve().relative_to(tree.resolve())}, {place}"
    return f"{step['message']} ({place})"
