"""What passes inside the guard's own functions in a step: each is too short for other programs to get in between.

What the guard's work does to the caches of the step around it is not in these numbers: that is what
`guard_overhead.py` measures, on a quiet machine. The second number is that of the hook on every layer which
`stats=True` adds. Of the steps, after a few that settle, the first quartile: what other programs of the machine take
away makes the rest slower, and is not the guard's. The plain step in processor time.

Usage: python benchmarks/guard_own_time.py [--model NAME] [--page docs/guard.md]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import page
import torch
from guard_overhead import MODELS, Step, classifier

from stablelint.runtime.guard import Guard
from stablelint.runtime.guard.watching.activations import Activations
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.tracing.patches import replaced

SETTLED = 8  # steps after which the guard has found the buffers and reads the layers seldom
HOOKS = ("before_backward", "after_backward", "before_step", "after_step")
STEPS = {"mlp": 600}
FEW = 12  # steps of models that take longer


def quartile(seconds: list[float]) -> float:
    """That of the quicker half."""
    return statistics.quantiles(seconds, n=4)[0]


def inside(
    step: Step, count: int, clock: Callable[[], float], holder: type, *names: str, stats: bool = False
) -> float:
    """Seconds that methods of `holder` take in a step under a guard."""
    taken = 0.0

    def timed(original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            nonlocal taken
            started = clock()
            result = original(*args)
            taken += clock() - started
            return result

        return call

    found = []
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(replaced(holder, name, timed))
        stack.enter_context(Guard(stats=stats))
        for _ in range(count + SETTLED):
            taken = 0.0
            step()
            found.append(taken)
    return quartile(found[SETTLED:])


def plainly(step: Step, count: int) -> float:
    """Seconds of processor time that a step without a guard takes."""
    found = []
    for _ in range(count):
        started = time.process_time()
        step()
        found.append(time.process_time() - started)
    return quartile(found)


def row(name: str) -> list[str]:
    """The numbers of one model."""
    model, *data = MODELS[name]()
    step = classifier(model, *data, "cpu").step
    count = STEPS.get(name, FEW)
    layers = sum(1 for one in model.modules() if not list(one.children()))
    own = inside(step, count, time.perf_counter, Watch, *HOOKS)
    # On large results the hooks of layers take long enough to be interrupted; reading the thread's clock takes its time.
    clock = time.perf_counter if name in STEPS else time.thread_time
    stats = inside(step, count, clock, Activations, "_seen", stats=True)
    plain = plainly(step, count)
    return [
        name,
        f"{plain * 1e3:.2f}",
        f"{own * 1e6:.0f}",
        f"{stats * 1e6:.0f}",
        f"{stats / layers * 1e6:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    heads = [
        "model",
        "plain step, ms",
        "in the guard, µs",
        "in the hooks of --stats, µs",
        "for each layer, µs",
    ]
    table = page.table(heads, [row(name) for name in options.model or MODELS])
    print(table)
    if options.page is not None:
        page.fill(options.page, "own", table)


if __name__ == "__main__":
    main()
