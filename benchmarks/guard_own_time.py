"""What passes inside the guard's own functions in a step: each is too short for other programs to get in between.

What the guard's work does to the caches of the step around it is not in these numbers: that is what
`guard_overhead.py` measures, on a quiet machine. The numbers for `stats=True` are of the hook on every layer that it
adds. Blocks of plain and of guarded steps take turns, so that a busy machine slows both down alike: then the share of
the step says more than the microseconds. Of each kind of step the first quartile: what other programs of the machine
take away makes the rest slower, and is not the guard's. The plain step in processor time.

Usage: python benchmarks/guard_own_time.py [--model NAME] [--page docs/guard.md]
"""

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

SETTLED = 20  # steps after which the guard has found the buffers and reads the layers seldom
HOOKS = ("before_backward", "after_backward", "before_step", "after_step")
BLOCKS = {"mlp": (40, 25)}  # of so many steps
FEW = (3, 4)  # those of models that take longer


def inside(
    step: Step, blocks: tuple[int, int], clock: Callable[[], float], guard: Guard, holder: type, *names: str
) -> tuple[float, float]:
    """Seconds that a plain step takes, and those that methods of `holder` take in a step under the guard."""
    taken = 0.0

    def timed(original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            nonlocal taken
            started = clock()
            result = original(*args)
            taken += clock() - started
            return result

        return call

    plain, found = [], []
    rounds, length = blocks
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(replaced(holder, name, timed))
        with guard:
            for _ in range(SETTLED):
                step()
        for _ in range(rounds):
            for _ in range(length):
                started = time.process_time()
                step()
                plain.append(time.process_time() - started)
            with guard:
                for _ in range(length):
                    taken = 0.0
                    step()
                    found.append(taken)
    return quartile(plain), quartile(found)


def quartile(seconds: list[float]) -> float:
    """That of the quicker half."""
    return statistics.quantiles(seconds, n=4)[0]


def row(name: str) -> list[str]:
    """The numbers of one model."""
    model, *data = MODELS[name]()
    step = classifier(model, *data, "cpu").step
    blocks = BLOCKS.get(name, FEW)
    layers = sum(1 for one in model.modules() if not list(one.children()))
    plain, own = inside(step, blocks, time.perf_counter, Guard(), Watch, *HOOKS)
    # On large results the hooks of layers take long enough to be interrupted; reading the thread's clock takes its time.
    clock = time.perf_counter if name in BLOCKS else time.thread_time
    _, stats = inside(step, blocks, clock, Guard(stats=True), Activations, "_seen")
    return [
        name,
        f"{plain * 1e3:.2f}",
        f"{own * 1e6:.0f}",
        f"{own / plain:.1%}",
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
        "of the step",
        "in the hooks of --stats, µs",
        "for each layer, µs",
    ]
    table = page.table(heads, [row(name) for name in options.model or MODELS])
    print(table)
    if options.page is not None:
        page.fill(options.page, "own", table)


if __name__ == "__main__":
    main()
