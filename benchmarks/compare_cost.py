"""What recording costs: a training step of a small transformer plain, recorded, and judged; memory over many steps.

python benchmarks/compare_cost.py [--steps 20] [--long 2000]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from stablelint.runtime.compare.recording.options import Options
from stablelint.runtime.compare.recording.recorder import Recorder
from stablelint.runtime.compare.recording.trace import Writer


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
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def recorded(step: Callable[[], None], steps: int, options: Options) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        with Recorder(Writer(path, 512 << 20, {}), options):
            took = seconds(step, steps)
        return took, path.stat().st_size // (steps + 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--long", type=int, default=2000)
    options = parser.parse_args()
    print("| width × batch | step, ms | recorded | judged | KB a step |\n| --- | ---: | ---: | ---: | ---: |")
    for width, batch in ((64, 8), (256, 16)):
        step = training(width, batch)
        plain = seconds(step, options.steps)
        kept, size = recorded(step, options.steps, Options())
        judged, _ = recorded(step, max(options.steps // 4, 2), Options(judge=True))
        print(
            f"| {width} × {batch} | {plain * 1e3:.1f} | {kept / plain:.2f} | {judged / plain:.1f} | {size // 1024} |"
        )
    step = training(16, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    recorded(step, options.long, Options(every=100))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\n{options.long} steps with --every 100: {(after - before) / 1024:.1f} MB more at the peak")


main()
