"""What recording costs in processor time, a training step plain and recorded; memory over many steps.

python benchmarks/compare_cost.py [--steps 20] [--long 10000]
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from stablelint.runtime.compare.recording.recorder import Options, Recorder
from stablelint.runtime.compare.recording.trace import Writer

WAYS = {
    "modules": Options(modules=True),
    "operations": Options(),
    "with statistics": Options(statistics=True),
    "judged": Options(judge=True, statistics=True),
}


class Empty(TorchDispatchMode):
    """What any mode of torch costs: it does nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        return func(*args, **(kwargs or {}))


def training(width: int, batch: int) -> Callable[[], None]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, 1))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(batch, 32, width)

    def step() -> None:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

    return step


def seconds(step: Callable[[], None], steps: int) -> float:
    step()
    times = []
    for _ in range(steps):
        started = time.process_time()
        step()
        times.append(time.process_time() - started)
    return sorted(times)[len(times) // 4]


def recorded(step: Callable[[], None], steps: int, options: Options) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        Recorder(Writer(Path(folder) / "t", 512 << 20, {}), options),
    ):
        return seconds(step, steps)


def peak() -> float:
    """MB of memory that the process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--long", type=int, default=10_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"| width × batch | step, ms | an empty mode | {' | '.join(WAYS)} |\n|{' --- |' * (3 + len(WAYS))}")
    for width, batch in ((64, 8), (256, 16)):
        step = training(width, batch)
        plain = seconds(step, options.steps)
        with Empty():  # type: ignore[no-untyped-call]
            empty = seconds(step, options.steps)
        times = [recorded(step, options.steps // (4 if way.judge else 1), way) for way in WAYS.values()]
        cells = " | ".join(f"{one / plain:.2f}" for one in (empty, *times))
        print(f"| {width} × {batch} | {plain * 1e3:.1f} | {cells} |", flush=True)
    step = training(16, 2)
    recorded(step, 200, Options(every=100))
    before = peak()
    recorded(step, options.long, Options(every=100))
    print(f"\n{options.long} steps with --every 100: {peak() - before:.1f} MB more at the peak")


main()
