#!/usr/bin/env python3
"""Applies all fixes to copies of real packages and says whether what `fix` promises holds there.

    python benchmarks/fix_packages.py                    twelve packages, both levels
    python benchmarks/fix_packages.py --only kornia e3nn --level possible
    python benchmarks/fix_packages.py --keep FOLDER      leave the fixed copies there

For each package and level, with unsafe fixes: every file parses; its comments are the same (tokenized, as a
multiset) and so are its line endings; a second run changes nothing; findings that were fixed are gone, and no
rule has more findings in a file than before. The exit code is 1 where one of these fails.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import shutil
import sys
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from measure import Cost, run
from releases import fetch, python_files, releases

PACKAGES = """
nflows geoopt captum e3nn gpytorch pytorch-metric-learning stable-baselines3 x-transformers sentence-transformers
pyro-ppl torchmetrics kornia
""".split()
LEVELS = ("likely", "possible")
_NEWLINE = re.compile(rb"\r\n|\n|\r")


@dataclass
class Result:
    """What happened to one package; `wrongs` holds a line for each promise that was broken."""

    name: str
    level: str
    files: int = 0
    changed: int = 0
    findings: int = 0
    fixed: int = 0
    withheld: int = 0
    wrongs: list[str] = field(default_factory=list)


def fix(name: str, version: str, level: str, keep: Path | None) -> Result:
    """Fixes a copy of a release and looks at every file before and after."""
    source = fetch(name, version)
    result = Result(name, level)
    with tempfile.TemporaryDirectory() as scratch:
        copy = (keep or Path(scratch)) / f"{name}-{level}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        before = _findings(copy, level)
        done = _stablelint(copy, "fix", "--apply", "--unsafe-fixes", "--level", level)
        if done.code not in (0, 1) and "Traceback" in done.stderr:
            result.wrongs.append(f"`fix` failed: {done.stderr.splitlines()[-1]}")
        after = _findings(copy, level)
        again = _stablelint(copy, "fix", "--diff", "--unsafe-fixes", "--level", level)
        if again.stdout:
            files = re.findall(r"^\+\+\+ b/(\S+)", again.stdout, re.MULTILINE)
            result.wrongs.append(f"a second run changes {', '.join(files)}")
        result.findings, result.fixed = sum(before.values()), sum((before - after).values())
        found = re.search(r"^Withheld ([\d,]+)", done.stdout, re.MULTILINE)
        result.withheld = int(found[1].replace(",", "")) if found else 0
        result.wrongs += _new_findings(before, after)
        for path in python_files(source):
            result.files += 1
            old, new = path.read_bytes(), (copy / path.relative_to(source)).read_bytes()
            if old != new:
                result.changed += 1
                result.wrongs += [f"{path.relative_to(source)}: {wrong}" for wrong in _compare(old, new)]
        announced = re.search(r"^Fixed ([\d,]+) finding", done.stdout, re.MULTILINE)
        claimed = int(announced[1].replace(",", "")) if announced else 0
        if claimed > result.fixed:
            result.wrongs.append(f"says that it fixed {claimed}, and {result.fixed} are gone")
    return result


def _stablelint(tree: Path, *words: str) -> Cost:
    return run([sys.executable, "-m", "stablelint", *words, "."], tree)


def _findings(tree: Path, level: str) -> Counter[tuple[str, str]]:
    """How many findings of each rule each file has."""
    done = _stablelint(tree, "check", "--output-format", "json", "--level", level)
    return Counter((item["filename"], item["code"]) for item in json.loads(done.stdout))


def _new_findings(before: Counter[tuple[str, str]], after: Counter[tuple[str, str]]) -> Iterator[str]:
    for (filename, code), count in sorted((after - before).items()):
        yield f"{filename}: {count} more of {code} than before"


def _compare(old: bytes, new: bytes) -> Iterator[str]:
    """What of a file's text was not kept."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(new)
    except SyntaxError as error:
        yield f"no longer parses: line {error.lineno}: {error.msg}"
        return
    lost, gained = _comments(old) - _comments(new), _comments(new) - _comments(old)
    for comment in lost:
        yield f"the comment {comment!r} is gone"
    for comment in gained:
        yield f"the comment {comment!r} is new"
    if set(_NEWLINE.findall(new)) - set(_NEWLINE.findall(old)):
        yield "other line endings"
    if old.endswith(b"\n") != new.endswith(b"\n"):
        yield "another end of file"
    if any(line.rstrip() != line for line in set(new.splitlines()) - set(old.splitlines())):
        yield "white space at the end of a line"


def _comments(data: bytes) -> Counter[str]:
    """The comments of a source, but those for the linter, which go when nothing is left to silence."""
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    found = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return Counter(text for text in found if "stablelint:" not in text)


def table(results: list[Result]) -> str:
    """One row a package and level."""
    lines = [
        "| package | level | files | changed | findings | fixed | withheld | broken promises |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in results:
        numbers = [one.files, one.changed, one.findings, one.fixed, one.withheld, len(one.wrongs)]
        lines.append(f"| {one.name} | {one.level} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def main() -> int:
    """Fixes, compares, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", default=PACKAGES)
    parser.add_argument("--level", choices=LEVELS, nargs="+", default=list(LEVELS))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the fixed copies here")
    options = parser.parse_args()
    results: list[Result] = []
    for name, version in releases(options.only).items():
        for level in options.level:
            results.append(fix(name, version, level, options.keep))
            for wrong in results[-1].wrongs:
                print(f"{name} ({level}): {wrong}", flush=True)
    print(table(results))
    return int(any(one.wrongs for one in results))


if __name__ == "__main__":
    raise SystemExit(main())
