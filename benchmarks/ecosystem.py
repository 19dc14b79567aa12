#!/usr/bin/env python3
"""Runs the linter over popular packages and writes what it found to docs/ecosystem.md.

    python benchmarks/ecosystem.py                     all releases of ecosystem.toml
    python benchmarks/ecosystem.py --only timm kornia  some of them; the page is not written
    python benchmarks/ecosystem.py --only timm --write  some of them; the page tells which
    python benchmarks/ecosystem.py --diff              also list findings new or gone since the last run

Releases are downloaded once into $STABLELINT_ECOSYSTEM (~/.cache/stablelint-eco); the findings of the last
run are kept there too.
"""

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from findings import Finding, check, crashed, problems
from releases import CACHE, count_lines, fetch, python_files, releases

PAGE = Path(__file__).parents[1] / "docs" / "ecosystem.md"
LAST_RUN = CACHE / "last-run.json"


@dataclass(frozen=True, slots=True)
class Survey:
    """What one release gave."""

    name: str
    version: str
    files: int
    lines: int
    wall: float
    cpu: float
    peak_mib: float
    code: int
    crashed: bool
    problems: tuple[str, ...]
    findings: tuple[Finding, ...]  # at default settings
    possible: int  # how many more `--level possible` shows
    discharged: tuple[Finding, ...]


def survey(name: str, version: str) -> Survey:
    """Checks one release: timed on an empty cache, then once more from the cache with everything shown."""
    tree = fetch(name, version)
    files = python_files(tree)
    cache = CACHE / "cache" / name
    shutil.rmtree(cache, ignore_errors=True)
    found, cost = check(name, tree, "--cache-dir", str(cache))
    everything, _ = check(name, tree, "--cache-dir", str(cache), "--level", "possible", "--show-discharged")
    discharged = tuple(item for item in everything if item.status == "discharged")
    return Survey(
        name,
        version,
        len(files),
        count_lines(files),
        cost.wall,
        cost.cpu,
        cost.peak_mib,
        cost.code,
        crashed(cost),
        tuple(problems(cost)),
        tuple(found),
        len(everything) - len(discharged) - len(found),
        discharged,
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first column is text, the others numbers."""
    lines: list[Sequence[object]] = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def per_kloc(count: int, lines: int) -> str:
    """Findings per thousand lines."""
    return f"{1000 * count / lines:.2f}" if lines else "–"


def package_table(surveys: list[Survey]) -> str:
    """One row a release, and the sum."""
    rows: list[list[object]] = [
        [
            f"{s.name} {s.version}",
            s.files,
            f"{s.lines:,}",
            f"{s.wall:.1f}",
            f"{s.peak_mib:.0f}",
            len(s.findings),
            per_kloc(len(s.findings), s.lines),
            s.possible,
            len(s.discharged),
            len(s.problems),
            int(s.crashed),
        ]
        for s in surveys
    ]
    found, lines = sum(len(s.findings) for s in surveys), sum(s.lines for s in surveys)
    rows.append(
        [
            "**all**",
            sum(s.files for s in surveys),
            f"{lines:,}",
            f"{sum(s.wall for s in surveys):.1f}",
            f"{max(s.peak_mib for s in surveys):.0f}",
            found,
            per_kloc(found, lines),
            sum(s.possible for s in surveys),
            sum(len(s.discharged) for s in surveys),
            sum(len(s.problems) for s in surveys),
            sum(s.crashed for s in surveys),
        ]
    )
    head = ["release", "files", "lines", "seconds", "MiB", "findings", "per 1000 lines"]
    return table([*head, "more at `possible`", "discharged", "unreadable files", "crashes"], rows)


def rule_table(surveys: list[Survey]) -> str:
    """One row a rule, most frequent first."""
    found = Counter(item.code for s in surveys for item in s.findings)
    packages = Counter(code for s in surveys for code in {item.code for item in s.findings})
    proved = Counter(item.code for s in surveys for item in s.discharged)
    lines = sum(s.lines for s in surveys)
    codes = sorted(found | proved, key=lambda code: (-found[code], code))
    rows: list[list[object]] = [
        [code, found[code], per_kloc(found[code], lines), packages[code], proved[code]] for code in codes
    ]
    return table(["rule", "findings", "per 1000 lines", "in packages", "discharged"], rows)


def guard_table(surveys: list[Survey]) -> str:
    """One row a guard: how many obligations it discharged, and of which rules."""
    guards = Counter(item.discharged_by or "unnamed" for s in surveys for item in s.discharged)
    rows: list[list[object]] = []
    for guard, count in guards.most_common():
        rules = Counter(
            item.code for s in surveys for item in s.discharged if (item.discharged_by or "unnamed") == guard
        )
        rows.append([guard, count, ", ".join(f"{code} {n}" for code, n in rules.most_common(4))])
    return table(["guard", "obligations", "mostly of"], rows)


def page(surveys: list[Survey]) -> str:
    """The text of docs/ecosystem.md."""
    return "\n".join(
        [
            "# What it says of real packages",
            "",
            "Written by `python benchmarks/ecosystem.py`; `benchmarks/ecosystem.toml` pins the releases.",
            "Default settings, every Python file of the release, empty cache. Seconds are wall time.",
            *unchecked(surveys),
            "",
            package_table(surveys),
            "## By rule",
            "",
            rule_table(surveys),
            "## What discharged the others",
            "",
            "An obligation that the analysis proves safe is not reported, only counted.",
            "",
            guard_table(surveys),
        ]
    )


def unchecked(surveys: list[Survey]) -> list[str]:
    """A line that names the pinned releases which this run left out, if any."""
    left_out = sorted(releases().keys() - {s.name for s in surveys})
    return [f"Not part of this run: {', '.join(left_out)}."] if left_out else []


def remember(surveys: list[Survey]) -> dict[str, list[str]]:
    """Stores the findings of this run and returns those of the run before, by package."""
    before: dict[str, list[str]] = json.loads(LAST_RUN.read_text()) if LAST_RUN.is_file() else {}
    now = {s.name: sorted(describe(item) for item in s.findings) for s in surveys}
    LAST_RUN.write_text(json.dumps({**before, **now}))
    return before


def describe(item: Finding) -> str:
    """One finding in one line, without its row: rows of a pinned release never move."""
    return f"{item.place}: {item.code} {' '.join(item.expression.split())[:120]}"


def print_difference(surveys: list[Survey], before: dict[str, list[str]]) -> None:
    """Findings that are new (+) or gone (-) since the last run."""
    for s in surveys:
        old, new = set(before.get(s.name, ())), {describe(item) for item in s.findings}
        for line in sorted(old ^ new):
            print(f"{'+' if line in new else '-'} {s.name} {line}")


def write_page(surveys: list[Survey]) -> None:
    """Writes docs/ecosystem.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(surveys), encoding="utf-8")


def main() -> int:
    """Runs the survey; the exit code is 1 when the linter crashed on a package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", help="check these; do not write the page")
    parser.add_argument("--diff", action="store_true", help="list findings new or gone since the last run")
    parser.add_argument("--write", action="store_true", help="write the page in spite of --only")
    options = parser.parse_args()
    surveys: list[Survey] = []
    for name, version in releases(options.only).items():
        surveys.append(one := survey(name, version))
        state = f"{len(one.findings)} findings, {len(one.discharged)} discharged"
        state += f", CRASHED (exit code {one.code})" if one.crashed else ""
        print(f"{name} {version}: {one.wall:.1f} s, {one.peak_mib:.0f} MiB, {state}", flush=True)
        for problem in one.problems[:3]:
            print(f"  {problem}")
        if options.write:  # as it goes: what is done should outlive an interruption
            write_page(surveys)
    before = remember(surveys)
    if options.diff:
        print_difference(surveys, before)
    if options.only and not options.write:
        print("\n" + rule_table(surveys))
    else:
        write_page(surveys)
        print(f"wrote {PAGE}")
    return int(any(s.crashed for s in surveys))


if __name__ == "__main__":
    raise SystemExit(main())
