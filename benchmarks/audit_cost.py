"""What an audit of ten steps costs over ten plain steps, for the programs of `tests/runtime/audit/programs`.

python benchmarks/audit_cost.py [PROGRAM ...]
"""

import contextlib
import runpy
import sys
import time
import warnings
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from stablelint.runtime.audit import Audit
from stablelint.runtime.audit.api import DEFAULT_STEPS
from stablelint.runtime.audit.child import AuditDone

PROGRAMS = Path(__file__).parent.parent / "tests" / "runtime" / "audit" / "programs"


def plain(path: Path) -> float:
    """Seconds of ten steps and what comes before them."""
    taken: dict[int, int] = {}

    def count(optimizer: torch.optim.Optimizer, *_: object) -> None:
        taken[id(optimizer)] = taken.get(id(optimizer), 0) + 1
        if taken[id(optimizer)] >= DEFAULT_STEPS:
            raise AuditDone

    hook = register_optimizer_step_post_hook(count)
    try:
        return seconds(path)
    finally:
        hook.remove()


def audited(path: Path) -> float:
    """Seconds of the same under an audit, with its judgement."""

    def end() -> None:
        found.finish()
        raise AuditDone

    found = Audit(DEFAULT_STEPS, end)
    with found:
        return seconds(path)


def seconds(path: Path) -> float:
    """Processor time of a program."""
    start = time.process_time()
    with contextlib.suppress(AuditDone):
        runpy.run_path(str(path), run_name="__main__")
    return time.process_time() - start


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print("| program | plain | audited | audited - 3 × plain |\n| --- | ---: | ---: | ---: |")
    for path in sorted(PROGRAMS.glob("*.py")):
        if names and path.stem not in names:
            continue
        try:
            plain(path)  # what is loaded on first use is no part of either
        except ImportError:
            continue
        alone, watched = plain(path), audited(path)
        print(f"| {path.stem} | {alone:.2f} s | {watched:.2f} s | {watched - 3 * alone:.2f} s |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
