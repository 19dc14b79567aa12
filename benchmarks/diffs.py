#!/usr/bin/env python3
"""Draws proposed fixes at random over real packages for people to read as diffs, and scores what they judged.

    python benchmarks/diffs.py --level likely  draw 100 of the default level, update judgements.jsonl, write the page
    python benchmarks/diffs.py --score          the share that would be merged unchanged,
                                                and what is the matter with the others

A diff is what `fix` writes for the findings of one rule in one function, on the file as it was released. The table
`fixes` of judgements.jsonl holds one row a drawn diff: package, place, code, applicability, the lines taken away and put
in, verdict, reason. The verdict is `merge` or `change`: whether the package's maintainer would merge the diff unchanged,
granted that he wants the finding gone; the reason for a `change` begins with its kind (`false`, `form`, `layout` …). A
verdict is remembered by package, code and the changed lines, so that a fix which is now written otherwise is open again.
Each diff's place in the draw is a hash of its own.
"""

import argparse
import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from judgements import PATH, Judgements, Row
from measure import ROOT, run
from releases import CACHE, fetch, releases

sys.path.insert(0, str(ROOT))

from stablelint.codemod.text.diff import unified_diff
from stablelint.codemod.text.edits import apply_edits, select
from stablelint.diagnostic import Applicability, Edit, Fix, Position, Span

JUDGED = "fixes"
VERDICTS = Judgements(
    ("package", "place", "code", "applicability", "before", "after", "verdict", "reason"), ("merge", "change")
)
PACKAGES = """
captum e3nn geoopt gpytorch kornia nflows normflows pyro-ppl pytorch-metric-learning sentence-transformers
stable-baselines3 tianshou torchmetrics vector-quantize-pytorch x-transformers
""".split()

Key = tuple[str, str, str, str]
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Proposed:
    """The fixes of a rule in a function: `before` and `after` are the changed lines, `diff` shows them in their place."""

    package: str
    place: str
    code: str
    applicability: str
    message: str
    promise: str
    before: str
    after: str
    diff: str
    is_one_of_several: bool

    @property
    def key(self) -> Key:
        """What a verdict is remembered by."""
        return (self.package, self.code, self.before, self.after)

    def rank(self, seed: int) -> bytes:
        """A random number of the site's own: what is put in does not change it."""
        name = "\0".join([str(seed), self.package, self.place.rpartition(":")[0], self.code, self.before])
        return hashlib.blake2b(name.encode(), digest_size=8).digest()


def proposed(package: str, tree: Path, level: str) -> Iterator[Proposed]:
    """Every fix that `check` offers in a release down to a level, display-only ones and notebooks aside."""
    cache = CACHE / "cache" / package
    options = ["--output-format", "json", "--cache-dir", str(cache), "--level", level]
    command = [sys.executable, "-m", "stablelint", "check", *options]
    offered = [
        item
        for item in json.loads(run([*command, "."], tree).stdout)
        if item.get("fix") and item["fix"]["applicability"] != "display" and "cell" not in item
    ]
    for alike in _in_one_function(offered):
        item, fix = alike[0], alike[0]["fix"]
        own = str((tree / item["filename"]).resolve())
        fixes = [Fix(Applicability.UNSAFE, "", tuple(map(edit_of, one["fix"]["edits"]))) for one in alike]
        taken, _ = select(fixes)
        edits = {edit: None for index in taken for edit in fixes[index].edits}
        made = Fix(Applicability(fix["applicability"]), "", tuple(edits))
        diff = "".join(_changed(Path(path), edits, tree) for path, edits in made.by_file(own).items())
        yield Proposed(
            package=package,
            place=f"{_named(Path(own), tree)}:{item['location']['row']}",
            code=item["code"],
            applicability=fix["applicability"],
            message=item["message"],
            promise=fix["message"],
            before=_lines(diff, "-"),
            after=_lines(diff, "+"),
            diff=diff,
            is_one_of_several=len(alike) > 1,
        )


def _in_one_function(offered: list[Item]) -> Iterator[list[Item]]:
    """The findings of each rule in each function, as `fix` mends them in one pass; outside functions each alone."""
    found: dict[tuple[str, str, int], list[Item]] = {}
    for item in offered:
        row = item["location"]["row"]
        inside = [first for first, last in _functions(item["filename"]) if first <= row <= last]
        found.setdefault((item["filename"], item["code"], max(inside, default=-row)), []).append(item)
    yield from found.values()


@lru_cache(maxsize=16)
def _functions(filename: str) -> list[tuple[int, int]]:
    """The first and last row of every function of a file."""
    nodes = ast.walk(ast.parse(Path(filename).read_bytes()))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.lineno, node.end_lineno or 0) for node in nodes if isinstance(node, kinds)]


def in_rounds(item: Proposed, tree: Path, level: str) -> Proposed:
    """The same as `fix` writes it, which makes several fixes of a function in as many rounds as they need."""
    if not item.is_one_of_several:
        return item
    options = ["--diff", "--unsafe-fixes", "--select", item.code, "--level", level, "--no-cache"]
    name, _, line = item.place.rpartition(":")
    row = int(line)
    head, *hunks = re.split(
        r"^(?=@@ )", run([sys.executable, "-m", "stablelint", "fix", *options, name], tree).stdout, flags=re.M
    )
    inside = max(((a, b) for a, b in _functions(str(tree / name)) if a <= row <= b), default=(row, row))
    own = [hunk for hunk in hunks if inside[0] <= int(re.findall(r"\d+", hunk)[0]) + 3 <= inside[1]]
    diff = head + "".join(own) if own else item.diff
    return replace(item, before=_lines(diff, "-"), after=_lines(diff, "+"), diff=diff)


def _changed(path: Path, edits: list[Edit], tree: Path) -> str:
    source = path.read_bytes()
    return unified_diff(source, apply_edits(source, edits), _named(path, tree), 8)


def _named(path: Path, tree: Path) -> str:
    return path.resolve().relative_to(tree.resolve()).as_posix()


def edit_of(item: dict[str, dict[str, int] | str]) -> Edit:
    """An edit as `check` prints it."""
    places = []
    for key in ("location", "end_location"):
        place = item[key]
        assert isinstance(place, dict)
        places.append(Position(place["row"], place["column"]))
    filename = item.get("filename")
    return Edit(Span(*places), str(item["content"]), str(filename) if filename is not None else None)


def _lines(diff: str, sign: str) -> str:
    chosen = [line[1:] for line in diff.splitlines() if line.startswith(sign) and line[:3] != sign * 3]
    return " ".join(" ".join(chosen).split())


def draw(fixes: list[Proposed], count: int, seed: int, cap: int) -> list[Proposed]:
    """`count` fixes at random, at most `cap` of one rule and none twice."""
    taken: Counter[str] = Counter()
    sample: dict[Key, Proposed] = {}
    for item in sorted(fixes, key=lambda item: (item.rank(seed), item.place)):
        if taken[item.code] < cap and len(sample) < count and item.key not in sample:
            taken[item.code] += 1
            sample[item.key] = item
    return sorted(sample.values(), key=lambda item: (item.code, item.package, item.place))


def merge(sample: list[Proposed], known: list[Row]) -> list[Row]:
    """The sample as rows, verdicts filled in where the same diff was judged before."""
    verdicts = {(r["package"], r["code"], r["before"], r["after"]): r for r in known if r["verdict"]}
    rows = []
    for item in sample:
        old = verdicts.get(item.key, {"verdict": "", "reason": ""})
        values = [item.package, item.place, item.code, item.applicability]
        values += [item.before, item.after, old["verdict"], old["reason"]]
        rows.append(dict(zip(VERDICTS.columns, values, strict=True)))
    return rows


def kinds(rows: list[Row]) -> Counter[str]:
    """How often each kind keeps a diff from being merged; the first table was judged before there were kinds."""
    parts = (row["reason"].partition(": ") for row in rows if row["verdict"] == VERDICTS.allowed[1])
    return Counter(kind if reason else "unsorted" for kind, _, reason in parts)


def judge_page(sample: list[Proposed], rows: list[Row]) -> str:
    """Markdown for the judges: every diff with its finding and what the fix promises."""
    parts = ["# Diffs to judge\n"]
    for number, (item, row) in enumerate(zip(sample, rows, strict=True), 1):
        verdict = f"{row['verdict']} – {row['reason']}" if row["verdict"] else "open"
        parts.append(f"## {number}. {item.code} {item.package} {item.place} ({verdict})\n")
        parts.append(f"{item.message}\n\n{item.applicability} fix: {item.promise}\n")
        parts.append(f"```diff\n{item.diff}```\n")
    return "\n".join(parts)


def main() -> int:
    """Draws and writes, or scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--cap", type=int, default=15, help="at most this many of one rule")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", default=PACKAGES)
    parser.add_argument("--level", choices=("likely", "possible"), default="possible")
    parser.add_argument("--table", default=JUDGED)
    parser.add_argument(
        "--page", type=Path, default=CACHE / "diffs-to-judge.md", help="where the judges read"
    )
    parser.add_argument("--score", action="store_true", help="score the table and draw nothing")
    options = parser.parse_args()
    known = VERDICTS.read(options.table)
    if options.score:
        print(VERDICTS.score(known))
        print(", ".join(f"{kind} {count}" for kind, count in kinds(known).most_common()))
        return 0
    fixes: list[Proposed] = []
    trees = {name: fetch(name, version) for name, version in releases(options.only).items()}
    for name, tree in trees.items():
        fixes += proposed(name, tree, options.level)
    drawn = draw(fixes, options.count, options.seed, options.cap)
    sample = [in_rounds(item, trees[item.package], options.level) for item in drawn]
    rows = merge(sample, known)
    VERDICTS.write(options.table, rows)
    options.page.write_text(judge_page(sample, rows), encoding="utf-8")
    still_open = sum(not row["verdict"] for row in rows)
    packages = len({item.package for item in sample})
    print(f"drew {len(sample)} of {len(fixes)} fixes over {packages} packages; {still_open} not judged")
    print(f"read {options.page}, fill in `{options.table}` of {PATH.name}")
    print(VERDICTS.score(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
