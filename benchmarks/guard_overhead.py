"""What watching costs: the time of a training step under each detector over that of the plain step.

Steps of all variants are interleaved in one process, so that a busy machine troubles all alike; the numbers
are medians of the rounds' ratios. What the guard adds is measured apart, as it would be left on: one guard,
switched on and off over blocks (off, on, on, off): the median of the differences, and between which quartiles
they lie.

Usage: python benchmarks/guard_overhead.py [--rounds N] [--model NAME] [--device cuda] [--page docs/guard.md]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import page
import torch
from guard_detectors import DETECTORS, SKIPPED, plain
from torch import nn
from torch.nn import functional

from stablelint.runtime.guard import Guard

Step = Callable[[], None]
SETTLED = 20  # blocks after which the guard has found the buffers and reads the layers seldom
Task = tuple[nn.Module, torch.Tensor, torch.Tensor]  # model, inputs, classes


def mlp() -> Task:
    model = nn.Sequential(
        *(layer for _ in range(4) for layer in (nn.Linear(96, 96), nn.ReLU())), nn.Linear(96, 10)
    )
    return model, torch.randn(128, 96), torch.randint(0, 10, (128,))


def resnet() -> Task:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
            self.one, self.two = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + self.two(self.second(torch.relu(self.one(self.first(x))))))

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        *(Block(32) for _ in range(6)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    return model, torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))


def transformer() -> Task:
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Flatten(), nn.Linear(64 * 128, 10)
    )
    return model, torch.randn(8, 64, 128), torch.randint(0, 10, (8,))


def classifier(model: nn.Module, x: torch.Tensor, y: torch.Tensor, device: str) -> Step:
    model, x, y = model.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step


MODELS = {"mlp": mlp, "resnet": resnet, "transformer": transformer}


def seconds(step: Step, repeat: int, device: str) -> float:
    # On the processor its own time: what other programs take from a busy machine does not count.
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    for _ in range(repeat):
        step()
    if device != "cpu":
        torch.cuda.synchronize()
    return (clock() - started) / repeat


def ratios(step: Step, repeat: int, rounds: int, device: str) -> dict[str, float]:
    """The step under each detector over the plain step next to it."""
    variants = {"plain": plain, **DETECTORS, "guard": lasting(Guard())}
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    for _ in range(rounds):
        for variant, detector in variants.items():
            with detector():
                seconds(step, 2, device)
                taken[variant].append(seconds(step, repeat, device))
    return {
        variant: statistics.median(mine / own for mine, own in zip(times, taken["plain"], strict=True))
        for variant, times in taken.items()
    }


@dataclass(frozen=True, slots=True)
class Extra:
    """Seconds of a plain step, and what a guard that stays on adds to it: median and quartiles."""

    plain: float
    median: float
    low: float
    high: float


def extra(step: Step, repeat: int, rounds: int, device: str) -> Extra:
    """What a guard adds to a step, from blocks of `repeat` steps."""
    watched = lasting(Guard())
    with watched():
        seconds(step, SETTLED * repeat, device)
    plainly, differences = [], []
    for _ in range(rounds):
        times = []
        for context in (plain, watched, watched, plain):
            with context():
                seconds(step, 2, device)  # with or without the guard, it was the other way round just now
                times.append(seconds(step, repeat, device))
        plainly.append((times[0] + times[3]) / 2)
        differences.append((times[1] + times[2]) / 2 - plainly[-1])
    low, median, high = statistics.quantiles(differences, n=4)
    return Extra(statistics.median(plainly), median, low, high)


def lasting(guard: Guard) -> Callable[[], AbstractContextManager[None]]:
    """One guard as a context that can be entered again and again, and remembers the run."""

    @contextmanager
    def watched() -> Iterator[None]:
        guard.start()
        try:
            yield
        finally:
            guard.stop()

    return watched


def measure(name: str, rounds: int, device: str) -> dict[str, float]:
    step = classifier(*MODELS[name](), device)
    quick = name == "mlp"
    seconds(step, 5, device)
    pairs = ratios(step, 40 if quick else 4, rounds, device)
    more = extra(step, 20 if quick else 2, 5 * rounds if quick else rounds, device)
    return {
        "plain_ms": more.plain * 1e3,
        "guard_extra_us": more.median * 1e6,
        "guard_extra_low_us": more.low * 1e6,
        "guard_extra_high_us": more.high * 1e6,
        **{key: pairs[key] for key in DETECTORS},
    }


def as_page(rows: dict[str, dict[str, float]]) -> str:
    others = [key for key in DETECTORS if key != "guard"]
    return page.table(
        ["model", "plain step, ms", "the guard adds, µs", "guard", *others],
        [
            [
                name,
                f"{row['plain_ms']:.2f}",
                _with_spread(row),
                f"{1 + row['guard_extra_us'] / row['plain_ms'] / 1e3:.3f}",
                *(f"{row[key]:.2f}" for key in others),
            ]
            for name, row in rows.items()
        ],
    )


def _with_spread(row: dict[str, float]) -> str:
    return "{guard_extra_us:.0f} ({guard_extra_low_us:.0f} to {guard_extra_high_us:.0f})".format(**row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    rows = {name: measure(name, options.rounds, options.device) for name in options.model or MODELS}
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    if options.page is not None:
        page.fill(options.page, "overhead", as_page(rows))
    print(f"{'model':<12} {'plain':>9} {'guard adds':>22}  " + "  ".join(f"{key:>17}" for key in DETECTORS))
    for name, row in rows.items():
        cells = "  ".join(f"{row[key]:>17.3f}" for key in DETECTORS)
        print(f"{name:<12} {row['plain_ms']:>6.2f} ms {_with_spread(row):>19} µs  {cells}")
    for detector in SKIPPED:
        print(f"{detector}: skipped, it is not installed")


if __name__ == "__main__":
    main()
