"""What watching costs: the time of a training step under each detector over that of the plain step.

Steps of all variants are interleaved in one process, so that a busy machine troubles all alike; the numbers
are medians of the rounds' ratios. What the guard adds is measured apart, as it would be left on: one guard,
switched on and off over blocks (off, on, on, off): the median of the differences, and between which quartiles
they lie. Beside it stands what the least of all looks adds, written into the loop by hand: the loss read, and one
fused norm over the gradients. `--rounds` is for the ratios; the blocks go on for `--seconds` a model, so that the
median of a model with slow steps is over as much time as that of a quick one.

Usage: python benchmarks/guard_overhead.py [--rounds N] [--seconds S] [--model NAME] [--device cuda]
                                           [--page docs/guard.md]
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import page
import torch
from guard_detectors import DETECTORS, SKIPPED, plain
from torch import nn
from torch.nn import functional

from stablelint.runtime.guard import Guard

Step = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Training:
    """A step of training, and the same with the least of all looks written into it."""

    step: Step
    looking: Step


STATS = "guard with stats"
SETTLED = 20  # blocks after which the guard has found the buffers and reads the layers seldom
FEWEST = 10  # rounds of blocks: a median and quartiles want that many
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


def classifier(model: nn.Module, x: torch.Tensor, y: torch.Tensor, device: str) -> Training:
    model, x, y = model.to(device), x.to(device), y.to(device)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)

    def step(look: bool = False) -> None:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        if look:
            norms = torch._foreach_norm([one.grad for one in parameters if one.grad is not None])
            if not math.isfinite(loss.item()) or not math.isfinite(torch.stack(norms).norm().item()):
                raise FloatingPointError
        optimizer.step()

    return Training(step, partial(step, look=True))


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
    variants = {"plain": plain, **DETECTORS, "guard": lasting(Guard()), STATS: lasting(Guard(stats=True))}
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
    """Seconds that something adds to a step: median and quartiles."""

    median: float
    low: float
    high: float


def extra(training: Training, repeat: int, duration: float, device: str) -> tuple[float, Extra, Extra]:
    """Seconds of a plain step, and what a guard that stays on and a look by hand add.

    From blocks of `repeat` steps, over as many rounds as `duration` seconds hold.
    """
    watched = lasting(Guard())
    with watched():
        seconds(training.step, SETTLED * repeat, device)
    kinds = ((training.step, plain), (training.step, watched), (training.looking, plain))
    one_round = 2 * len(kinds) * (repeat + _turn(repeat)) * seconds(training.step, repeat, device)
    times: list[list[float]] = []
    for _ in range(max(FEWEST, round(duration / one_round))):
        there, back = ([_block(*kind, repeat, device) for kind in order] for order in (kinds, kinds[::-1]))
        times.append([(one + other) / 2 for one, other in zip(there, reversed(back), strict=True)])
    plainly, guarded, looked = zip(*times, strict=True)
    return statistics.median(plainly), _added(guarded, plainly), _added(looked, plainly)


def _block(
    step: Step, context: Callable[[], AbstractContextManager[None]], repeat: int, device: str
) -> float:
    with context():
        seconds(step, _turn(repeat), device)
        return seconds(step, repeat, device)


def _turn(repeat: int) -> int:
    """Steps before a block counts: it was another kind of step just now."""
    return max(1, repeat // 10)


def _added(times: Sequence[float], plainly: Sequence[float]) -> Extra:
    low, median, high = statistics.quantiles([a - b for a, b in zip(times, plainly, strict=True)], n=4)
    return Extra(median, low, high)


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


def measure(name: str, rounds: int, duration: float, device: str) -> dict[str, float]:
    training = classifier(*MODELS[name](), device)
    quick = name == "mlp"
    seconds(training.step, 5, device)
    pairs = ratios(training.step, 40 if quick else 4, rounds, device)
    step, guarded, looked = extra(training, 20 if quick else 2, duration, device)
    return {
        "plain_ms": step * 1e3,
        **{f"guard_{key}_us": value * 1e6 for key, value in asdict(guarded).items()},
        **{f"look_{key}_us": value * 1e6 for key, value in asdict(looked).items()},
        **{key: pairs[key] for key in (*DETECTORS, STATS)},
    }


def as_page(rows: dict[str, dict[str, float]]) -> str:
    others = [STATS, *(key for key in DETECTORS if key != "guard")]
    return page.table(
        ["model", "plain step, ms", "a look by hand adds, µs", "the guard adds, µs", "guard", *others],
        [
            [
                name,
                f"{row['plain_ms']:.2f}",
                _with_spread(row, "look"),
                _with_spread(row, "guard"),
                f"{1 + row['guard_median_us'] / row['plain_ms'] / 1e3:.3f}",
                *(f"{row[key]:.2f}" for key in others),
            ]
            for name, row in rows.items()
        ],
    )


def _with_spread(row: dict[str, float], kind: str) -> str:
    median, low, high = (row[f"{kind}_{figure}_us"] for figure in ("median", "low", "high"))
    return f"{median:.0f} ({low:.0f} to {high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds for the ratios")
    parser.add_argument("--seconds", type=float, default=240, help="for what guard and look add, a model")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    rows = {
        name: measure(name, options.rounds, options.seconds, options.device)
        for name in options.model or MODELS
    }
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    if options.page is not None:
        page.fill(options.page, "overhead", as_page(rows))
    heads = "  ".join(f"{key:>17}" for key in DETECTORS)
    print(f"{'model':<12} {'plain':>9} {'look adds':>22} {'guard adds':>22}  {heads}")
    for name, row in rows.items():
        added = " ".join(f"{_with_spread(row, kind):>19} µs" for kind in ("look", "guard"))
        cells = "  ".join(f"{row[key]:>17.3f}" for key in DETECTORS)
        print(f"{name:<12} {row['plain_ms']:>6.2f} ms {added}  {cells}")
    for detector in SKIPPED:
        print(f"{detector}: skipped, it is not installed")


if __name__ == "__main__":
    main()
