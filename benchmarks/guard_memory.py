"""Whether the guard's memory stays flat: a million cheap steps, with what Python and the process hold on the way.

Prints resident memory and the number of live Python objects at ten marks, and the slope over the second half.

Usage: python benchmarks/guard_memory.py [--steps 1000000] [--plain]
"""

import argparse
import gc
import statistics
from contextlib import nullcontext
from pathlib import Path

import torch

from stablelint.runtime.guard import Guard


def resident() -> int:
    """Resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--plain", action="store_true", help="without the guard, to compare")
    options = parser.parse_args()
    torch.set_num_threads(1)
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    marks: list[tuple[int, int, int]] = []
    print(f"{'step':>9} {'resident MiB':>13} {'objects':>9}", flush=True)
    with nullcontext() if options.plain else Guard():
        for step in range(1, options.steps + 1):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            if step % (options.steps // 10) == 0:
                gc.collect()
                held, objects = resident(), len(gc.get_objects())
                marks.append((step, held, objects))
                print(f"{step:>9} {held / 2**20:>13.2f} {objects:>9}", flush=True)
    later = marks[len(marks) // 2 :]
    slope = statistics.linear_regression([mark[0] for mark in later], [mark[1] for mark in later]).slope
    print(f"{slope:.4f} bytes a step over the second half")


if __name__ == "__main__":
    main()
