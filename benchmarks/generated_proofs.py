#!/usr/bin/env python3
"""Draws programs at random, and runs what the analysis proved safe in them on operands of many kinds.

    python benchmarks/generated_proofs.py --programs 3000            the figures
    python benchmarks/generated_proofs.py --seed 7 --show 10         and the first false proofs with their programs
    python benchmarks/generated_proofs.py --programs 3000 --page docs/levels.md

A program assigns, writes in place, branches, loops, calls functions, methods and generators, puts tensors into lists
and mappings and takes them out (`tests/analysis/generated`). At its end logarithms, quotients, roots and the like of
each name are asked; those that are proved, not assumed, are evaluated where all names are finite and within 1e-9 and
1e9 in size. The exit code is 1 where one is not finite.
"""

import argparse
import random
import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from page import fill, table

from stablelint.catalog import load_catalog
from tests.analysis.generated.programs import draw
from tests.analysis.generated.tried import falsified, proofs_of


def main() -> int:
    """Draws, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="the first N with their programs")
    parser.add_argument("--page", type=Path, help="the page whose table is renewed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    catalog, rng = load_catalog(entry_points=False), random.Random(options.seed)
    proved, wrong = Counter[str](), Counter[str]()
    shown = 0
    for number in range(options.programs):
        program = draw(rng)
        proofs = proofs_of(program, catalog)
        proved.update(proofs.values())
        for found in falsified(program, proofs, number):
            wrong[found.by] += 1
            shown += 1
            if shown <= options.show:
                print(f"{found.expression}: proved by {found.by}, and {found.got}\n{program.text}")
    rows = [[by, str(proved[by]), str(wrong[by])] for by in sorted(proved)]
    rows.append(["all", str(proved.total()), str(wrong.total())])
    text = table([f"by, in {options.programs} programs of seed {options.seed}", "proofs", "false"], rows)
    print(text)
    if options.page:
        fill(options.page, "generated", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
