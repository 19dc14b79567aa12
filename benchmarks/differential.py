#!/usr/bin/env python3
"""Tries safe fixes on generated programs and on real functions: old and new must give the same, for every caller.

    python benchmarks/differential.py --programs 5000          the figures by kind of program
    python benchmarks/differential.py --seed 40 --show 10      and the first differences with their code
    python benchmarks/differential.py --healthy                unsafe fixes on all operands with a finite value and gradient
    python benchmarks/differential.py --functions              functions of the releases in [functions] of ecosystem.toml
    python benchmarks/differential.py --functions gpytorch --show 10
    python benchmarks/differential.py --functions --stored --page docs/fix.md   what was called last, into the page

A program is drawn around the pattern of a rule (`tests/codemod/differential`): with defaults that callers override,
regions without gradients, values that are written to, classes that others derive from. Its safe fixes are made, and old
and new run on operands of several types and shapes; values, gradients, what requires one, types, shapes, operands after
the call and raised errors are compared. The exit code is 1 where something differs.

Unsafe fixes change values where there was none, and nowhere else: with `--healthy` each pattern that has one is tried on
operands of all sizes and signs in single and half precision, and what it moves is listed, beside what
`tests/codemod/differential/healthy.py` documents.

Of a release, the functions are taken that a fix changes, and called with made arguments (`functions.py`). Safe fixes must
give the same there too; what others give is listed by rule, to be held against what the rule's page says of them.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import asdict
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from functions import Row, compare
from page import fill, table
from releases import CACHE, LIST, fetch

from stablelint.codemod.text.diff import unified_diff
from stablelint.runtime.verify.witness.stand_in import stand_in_for_absent, stand_in_for_all
from tests.codemod.differential.healthy import DOCUMENTED, forms, moved
from tests.codemod.differential.tried import Tried, drawn, tried


def main() -> int:
    """Draws, tries, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", help="only programs of this kind")
    parser.add_argument("--code", help="only around the patterns of this rule")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="the first N differences with their code"
    )
    parser.add_argument("--healthy", action="store_true", help="try unsafe fixes on healthy operands")
    parser.add_argument("--functions", nargs="*", metavar="PACKAGE", help="try real functions instead")
    parser.add_argument("--stored", action="store_true", help="call nothing anew, tell what was seen last")
    parser.add_argument("--page", type=Path, help="the page whose table is renewed")
    parser.add_argument("--one", type=Path, nargs=2, metavar=("TREE", "TABLE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.one:
        return _one_package(*options.one)
    if options.healthy:
        return _healthy(options.seed, options.page)
    if options.functions is not None:
        return _functions(options.functions, options.show, options.stored, options.page)
    ran, rewritten = Counter[str](), Counter[str]()
    wrong: list[Tried] = []
    for program, core in (item for seed in count(options.seed) for item in drawn(seed)):
        if (options.kind or program.kind) != program.kind or (options.code or program.code) != program.code:
            continue
        if ran.total() == options.programs:
            break
        ran[program.kind] += 1
        result = tried(program, core)
        rewritten[program.kind] += result.fixed != program.source
        if result.differences:
            wrong.append(result)
            if len(wrong) <= options.show:
                _show(result)
    _report(ran, rewritten, wrong)
    if options.page:
        fill(
            options.page, "programs", programs_table(options.seed, ran.total(), rewritten.total(), len(wrong))
        )
    return 1 if wrong else 0


def _healthy(seed: int, page: Path | None) -> int:
    """Tries unsafe fixes on healthy operands; 1 where one moves what nothing documents."""
    tried_forms = list(forms(seed))
    found = [one for form in tried_forms for one in moved(*form)]
    new = [one for one in found if not any(name in one.after for name in DOCUMENTED)]
    for one in new:
        print(
            f"{one.code} {one.sort}: {one.before}\n    {one.after}\n    {one.operands}: {one.old} != {one.new}"
        )
    cells = [
        len(tried_forms),
        seed,
        len({one.before for one in found} - {one.before for one in new}),
        len(new),
    ]
    print(text := table(["forms", "seed", "documented", "different"], [list(map(str, cells))]))
    if page:
        fill(page, "healthy", text)
    return 1 if new else 0


# These try what they import, and can do without it; a stand-in would be asked for its version.
_SELF_SUFFICIENT = ("joblib", "pandas", "scikit-learn", "scipy", "tqdm")


def _one_package(tree: Path, table: Path) -> int:
    """Writes the rows of one release, in a process of its own: what it imports stays there."""
    pinned = tomllib.loads(LIST.read_text(encoding="utf-8"))
    named = (pinned["functions-need"] | pinned["functions"]).items()
    others = [path for name, version in named if (path := CACHE / f"{name}-{version}") != tree]
    own = _of_source(tree)
    sys.path[:0] = [str(own), *map(str, others)]
    for root in (own, *others):
        if not root.name.startswith(_SELF_SUFFICIENT):
            stand_in_for_absent(frozenset(), str(root))
    stand_in_for_all()
    with table.open("w", encoding="utf-8") as lines:
        for row in compare(tree.name, own):
            lines.write(json.dumps(asdict(row)) + "\n")
            lines.flush()
    return 0


def _of_source(tree: Path) -> Path:
    """The folder that a release's packages stand in: the one folder of what is no wheel."""
    folders = [path for path in tree.iterdir() if path.is_dir()]
    is_source = len(folders) == 1 and any(
        (folders[0] / name).is_file() for name in ("setup.py", "pyproject.toml")
    )
    return folders[0] if is_source else tree


def programs_table(seed: int, ran: int, rewritten: int, wrong: int) -> str:
    """What generated programs showed, for the page."""
    return table(
        ["programs", "seed", "changed by a safe fix", "different"],
        [[f"{ran:,}", f"{seed}", f"{rewritten}", f"{wrong}"]],
    )


def _functions(names: list[str], show: int, stored: bool, page: Path | None) -> int:
    """Tries the functions of releases, prints the figures."""
    pinned = tomllib.loads(LIST.read_text(encoding="utf-8"))
    listed = pinned["functions"]
    needed = {} if stored else pinned["functions-need"]
    for name, version in needed.items():
        fetch(name, version)
    rows: list[Row] = []
    shown: list[list[str]] = []
    for name in names or listed:
        seen = CACHE / "functions" / f"{name}.jsonl"
        seen.parent.mkdir(exist_ok=True)
        if not stored:
            tree = fetch(name, listed[name])
            subprocess.run([sys.executable, __file__, "--one", tree, seen], check=True)
        elif not seen.exists():
            continue
        found = [Row(**json.loads(line)) for line in seen.read_text(encoding="utf-8").splitlines()]
        rows += found
        shown.append(_figures(name, found))
        print("  ".join(f"{one:>8}" for one in shown[-1]), flush=True)
    shown.append(_figures("all", rows))
    print(text := table(_FIGURES, shown))
    if page:
        fill(page, "functions", text)
    different = [row for row in rows if row.verdict == "different"]
    for row in different[:show]:
        print(f"--- {'safe' if row.safe else 'unsafe'}: {row.file}: {row.function}\n    {row.note}")
    return 1 if any(row.safe for row in different) else 0


_FIGURES = [
    "release",
    *("safe", "called", "equal"),
    *("unsafe", "called", "equal", "refuse integers", "different"),
]


def _figures(name: str, rows: list[Row]) -> list[str]:
    """How many functions the fixes of a release change, and what became of them, by whether they are safe."""
    cells = [name]
    for safe in (True, False):
        verdicts = Counter(row.verdict for row in rows if row.safe is safe)
        called = verdicts["equal"] + verdicts["different"] + verdicts["refuses"]
        told = (verdicts.total(), called, verdicts["equal"], verdicts["refuses"], verdicts["different"])
        cells += map(str, told[: 3 if safe else 5])
    return cells


def _show(result: Tried) -> None:
    program = result.program
    print(f"--- {program.kind}, {program.code}")
    for one in result.differences[:3]:
        print(f"    {one.what} for {one.case.sort}{list(one.case.shape)}: {one.note}")
    print("".join(unified_diff(program.source.encode(), result.fixed.encode(), "program.py", context=20)))


def _report(ran: Counter[str], rewritten: Counter[str], wrong: list[Tried]) -> None:
    kinds = Counter(result.program.kind for result in wrong)
    print(f"{'kind of program':<28}{'run':>6}{'fixed':>7}{'differ':>8}")
    for kind in ran:
        print(f"{kind:<28}{ran[kind]:>6}{rewritten[kind]:>7}{kinds[kind]:>8}")
    print(f"{'all':<28}{ran.total():>6}{rewritten.total():>7}{len(wrong):>8}")
    by_what = Counter((one.what, one.case.sort) for result in wrong for one in result.differences[:1])
    for (what, sort), number in by_what.most_common():
        print(f"  {number:>5}  {what} ({sort})")


if __name__ == "__main__":
    sys.exit(main())
