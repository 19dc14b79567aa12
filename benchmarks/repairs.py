#!/usr/bin/env python3
"""Asks of lines that maintainers repaired whether the linter would have told them before.

    python benchmarks/repairs.py                        over all of repairs.jsonl
    python benchmarks/repairs.py --half test            the half that no rule was tried on
    python benchmarks/repairs.py --only kornia --misses the lines that are not reported, too

`repairs.jsonl` holds a repair a line, read out of the difference between two releases of a package: the older
release (`pypi`), file and line, the line itself, the kind of fault, what the maintainer did, how far the cause
is from the line (`visible`), and the half. `seen` repairs were before the eyes of those who wrote the rules;
`test` repairs were set aside by a hash of package, file and line before anything was scored.
A repair is found when a finding starts within one line of it or spans it. The table counts those found at the
default level, and those found at `--level possible`, the default ones among them.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findings import crashed
from measure import run
from releases import fetch

REPAIRS = Path(__file__).with_name("repairs.jsonl")
LEVELS = ("likely", "possible")
SLACK = 1  # rows: a repair may stand in the statement before or after the fault
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Repair:
    """One repaired line. `file` is relative to the unpacked release; `line` counts from 1."""

    package: str
    version: str
    pypi: str
    file: str
    line: int
    quote: str
    kind: str
    repair: str
    visible: str
    half: str

    @property
    def place(self) -> str:
        """Release, path and line."""
        return f"{self.package}-{self.version}/{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the linter says of a repaired line: the lowest level that reports it, or `none`."""

    repair: Repair
    level: str
    codes: tuple[str, ...]


def load(path: Path = REPAIRS) -> list[Repair]:
    """The repairs of the table, in its order."""
    return [Repair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def reported(tree: Path, files: Iterable[str]) -> list[Item]:
    """Every finding in those files of a release at `--level possible`; raises SystemExit where the linter fails."""
    options = ["--no-cache", "--level", "possible", "--output-format", "json"]
    cost = run([sys.executable, "-m", "stablelint", "check", *options, *files], tree)
    if crashed(cost):
        raise SystemExit(f"stablelint failed on {tree} (exit code {cost.code}):\n{cost.stderr[-800:]}")
    items: list[Item] = json.loads(cost.stdout)
    return items


def answer(repair: Repair, items: Iterable[Item]) -> Answer:
    """The findings at the repaired line, among those of its file."""
    here = [item for item in items if _touches(item, repair.line)]
    level = next((level for level in LEVELS if any(item["level"] == level for item in here)), "none")
    return Answer(repair, level, tuple(sorted({item["code"] for item in here})))


def _touches(item: Item, line: int) -> bool:
    first, last = item["location"]["row"], item["end_location"]["row"]
    return bool(first - SLACK <= line <= max(last, first + SLACK))


def ask(repairs: Iterable[Repair]) -> tuple[list[Answer], list[str]]:
    """An answer for each repair, and the releases that the registry does not give out any more."""
    releases: dict[tuple[str, str], list[Repair]] = defaultdict(list)
    for repair in repairs:
        releases[repair.package, repair.version].append(repair)
    answers: list[Answer] = []
    absent: list[str] = []
    for (package, version), group in sorted(releases.items()):
        try:
            tree = fetch(package, version).resolve()
        except SystemExit:
            absent.append(f"{package} {version}")
            continue
        by_file: dict[Path, list[Item]] = defaultdict(list)
        for item in reported(tree, sorted({repair.file for repair in group})):
            by_file[(tree / item["filename"]).resolve()].append(item)
        answers += [answer(repair, by_file[(tree / repair.file).resolve()]) for repair in group]
    return answers, absent


def table(answers: Iterable[Answer]) -> str:
    """Recall at both levels over all, and by half, by how far the cause is from the line, and by kind."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in answers:
        repair = one.repair
        for key in (
            ("", "all"),
            ("half", repair.half),
            ("visible", repair.visible),
            ("kind", repair.kind),
        ):
            counts[key][one.level] += 1
    lines = [f"{'':32} repairs  default  possible"]
    for (group, name), count in sorted(counts.items()):
        total, default = count.total(), count["likely"]
        lines.append(f"{group:9}{name:23} {total:7} {default:8} {default + count['possible']:9}")
    return "\n".join(lines)


def main() -> int:
    """Asks and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=["seen", "test"], help="only this half")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE")
    parser.add_argument("--misses", action="store_true", help="list what the default level does not report")
    options = parser.parse_args()
    chosen = [
        repair
        for repair in load()
        if options.half in (None, repair.half) and (not options.only or repair.package in options.only)
    ]
    answers, absent = ask(chosen)
    print(table(answers))
    if absent:
        print("not to be had: " + ", ".join(absent))
    for one in answers if options.misses else ():
        if one.level != "likely":
            print(f"{one.level:9}{one.repair.place} {one.repair.kind}: {one.repair.quote}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
