#!/usr/bin/env python3
"""Tries safe fixes on generated programs: old and new must give the same, for every caller.

    python benchmarks/differential.py --programs 5000          the figures by kind of program
    python benchmarks/differential.py --seed 40 --show 10      and the first differences with their code

A program is drawn around the pattern of a rule (`tests/codemod/differential`): with defaults that callers override,
regions without gradients, values that are written to, classes that others derive from. Its safe fixes are made, and old
and new run on operands of several types and shapes; values, gradients, what requires one, types, shapes, operands after
the call and raised errors are compared. The exit code is 1 where something differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from stablelint.codemod.text.diff import unified_diff
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
    options = parser.parse_args()
    torch.set_num_threads(1)
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
    return 1 if wrong else 0


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
