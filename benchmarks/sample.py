#!/usr/bin/env python3
"""Draws findings at random over real packages for people to judge, and scores what they judged.

    python benchmarks/sample.py                 draw 150, update judgements.jsonl, write the page for the judges
    python benchmarks/sample.py --score         the share that is worth the maintainer's time

The table `findings` of judgements.jsonl holds one row a drawn finding: package, place, code, expression, message,
verdict, reason; `findings-before` keeps the verdicts on what is not drawn any more. Another table (`--table`) is kept
whole: it holds what was ever judged for it, drawn or not.
A judge fills in the verdict (`worth` or `noise`) and one line of reason. A verdict is remembered by package,
code and expression: a finding that is drawn again, at another line or in another release, keeps it. Where the
same expression was judged differently at two places, each place keeps its own. Each finding's place in the draw
is a hash of its own, so that a changed linter draws nearly the same sample.
"""

import argparse
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from findings import Finding, check, crashed
from judgements import PATH, Judgements, Row
from releases import CACHE, fetch, releases

JUDGED, BEFORE = "findings", "findings-before"
VERDICTS = Judgements(
    ("package", "place", "code", "expression", "message", "verdict", "reason"), ("worth", "noise")
)
CONTEXT_LINES = 12

Key = tuple[str, str, str]


def draw(findings: list[Finding], count: int, seed: int, cap: int) -> list[Finding]:
    """`count` findings uniformly at random, at most `cap` of one package."""
    taken: Counter[str] = Counter()
    sample: list[Finding] = []
    for item in sorted(findings, key=lambda item: (item.rank(seed), item.row, item.column)):
        if taken[item.package] < cap and len(sample) < count:
            taken[item.package] += 1
            sample.append(item)
    return sorted(sample, key=lambda item: (item.package, item.path, item.row, item.code))


def key_of(row: Row) -> Key:
    """What a verdict is remembered by."""
    return (row["package"], row["code"], row["expression"])


def merge(sample: list[Finding], known: list[Row]) -> list[Row]:
    """The sample as rows, verdicts filled in where that package, code and expression were judged before."""
    judged = [row for row in known if row["verdict"]]
    anywhere = {key_of(row): (row["verdict"], row["reason"]) for row in judged}
    there = {(row["place"], *key_of(row)): (row["verdict"], row["reason"]) for row in judged}
    rows = []
    for item in sample:
        verdict, reason = there.get((item.place, *item.key)) or anywhere.get(item.key, ("", ""))
        package, code, expression = item.key
        values = [package, item.place, code, expression, item.message, verdict, reason]
        rows.append(dict(zip(VERDICTS.columns, values, strict=True)))
    return rows


def keep_judged(rows: list[Row], known: list[Row]) -> list[Row]:
    """Verdicts outside the present sample, kept for the next draw."""
    drawn = {key_of(row) for row in rows}
    return [row for row in known if row["verdict"] and key_of(row) not in drawn]


def no_longer_reported(kept: list[Row], findings: list[Finding], checked: Collection[str]) -> list[Row]:
    """Of the judged rows outside the sample, those that the linter does not report in the packages `checked`."""
    reported = {item.key for item in findings}
    return [row for row in kept if row["package"] in checked and key_of(row) not in reported]


def by_place(row: Row) -> tuple[str, str, int, str]:
    """The order of a table that is kept whole: package, file, line, code."""
    path, _, line = row["place"].rpartition(":")
    return (row["package"], path, int(line), row["code"])


def judge_page(sample: list[Finding], rows: list[Row], trees: dict[str, Path]) -> str:
    """Markdown for the judges: every finding with its code around it and the chain that leads there."""
    parts = ["# Findings to judge\n"]
    for number, (item, row) in enumerate(zip(sample, rows, strict=True), 1):
        verdict = f"{row['verdict']} – {row['reason']}" if row["verdict"] else "open"
        parts.append(f"## {number}. {item.package} {item.place} {item.code} [{item.status}] ({verdict})\n")
        parts.append(f"{item.message}\n")
        parts += [f"- {step}" for step in item.chain]
        parts.append(f"\n```python\n{context(trees[item.package] / item.path, item.row)}\n```\n")
    return "\n".join(parts)


def context(path: Path, row: int) -> str:
    """The lines around `row`, numbered, the row itself marked."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    first, last = max(1, row - CONTEXT_LINES), min(len(lines), row + CONTEXT_LINES)
    return "\n".join(f"{'>' if n == row else ' '}{n:5} {lines[n - 1]}" for n in range(first, last + 1))


def find(options: argparse.Namespace) -> tuple[list[Finding], dict[str, Path]]:
    """All findings at the level that was asked for, and the tree of each package that was checked."""
    findings: list[Finding] = []
    trees: dict[str, Path] = {}
    for name, version in releases(options.only).items():
        trees[name] = fetch(name, version)
        found, cost = check(
            name, trees[name], "--level", options.level, "--cache-dir", str(CACHE / "cache" / name)
        )
        if crashed(cost):
            print(f"{name}: the linter crashed (exit code {cost.code}); its other findings are drawn")
        findings += found
    return findings, trees


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--cap", type=int, default=10**6, help="at most this many findings of one package")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE")
    parser.add_argument("--level", choices=["likely", "possible"], default="likely")
    parser.add_argument("--table", default=JUDGED)
    parser.add_argument("--page", type=Path, default=CACHE / "to-judge.md", help="where the judges read")
    parser.add_argument("--score", action="store_true", help="score the table and draw nothing")
    return parser.parse_args()


def main() -> int:
    """Draws and writes, or scores."""
    options = parse()
    kept_whole = options.table != JUDGED
    known = VERDICTS.read(options.table)
    if options.score:
        print(VERDICTS.score(known))
        return 0
    if not kept_whole:
        known += VERDICTS.read(BEFORE)
    findings, trees = find(options)
    sample = draw(findings, options.count, options.seed, options.cap)
    rows = merge(sample, known)
    kept = keep_judged(rows, known)
    if kept_whole:
        VERDICTS.write(options.table, sorted(rows + kept, key=by_place))
    else:
        VERDICTS.write(options.table, rows)
        VERDICTS.write(BEFORE, kept)
    options.page.write_text(judge_page(sample, rows, trees), encoding="utf-8")
    still_open = sum(not row["verdict"] for row in rows)
    packages = len({item.package for item in sample})
    print(f"drew {len(sample)} of {len(findings)} findings over {packages} packages; {still_open} not judged")
    print(f"read {options.page}, fill in `{options.table}` of {PATH.name}")
    print(VERDICTS.score(rows))
    if gone := no_longer_reported(kept, findings, trees):
        print(f"gone   {VERDICTS.share(gone)}")
        print(f"both   {VERDICTS.share(rows + gone)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
