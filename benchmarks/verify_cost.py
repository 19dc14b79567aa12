"""What verification costs: probes in a training step, memory over many calls, replay of a site.

python benchmarks/verify_cost.py
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stablelint.diagnostic import Position, Span
from stablelint.runtime.process.launch import environment
from stablelint.runtime.verify.probe.plan import Plan, Target
from stablelint.runtime.verify.replay.compare import prepare
from stablelint.runtime.verify.replay.values import Call
from stablelint.runtime.verify.site import Site
from stablelint.runtime.verify.verdict import examine

SITES = 10
STEP = """\
import statistics
import sys
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)


def plain(x):
    y = net(x).abs() + 1.0
    total = 0.0
{plain}
    return total


def probed(x):
    y = net(x).abs() + 1.0
    total = 0.0
{probed}
    return total


x = torch.randn(288, 256)
times = {{plain: [], probed: []}}
for step in range(400):
    # in turn, so that other work on the machine falls on both alike
    loss_of = (plain, probed)[step % 2]
    started = time.process_time()
    loss = loss_of(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    times[loss_of].append(time.process_time() - started)
print(*(statistics.median(found[50:]) * 1000 for found in times.values()))
"""
MEMORY = """\
import resource
import sys

import torch

torch.set_num_threads(1)


def f(x):
    return torch.log(x)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


for call in range(100_000):
    f(torch.full((64,), 1.0 + call % 97))
    if call == 5_000:
        early = peak()
print(early, peak())
"""


def _run(folder: Path, name: str, source: str, texts: list[str]) -> str:
    path = folder / name
    path.write_text(source)
    targets = []
    for row, line in enumerate(source.splitlines(), 1):
        for text in texts:
            if text in line:
                column = line.index(text) + 1
                targets.append(Target(f"{row}", (row, column), (row, column + len(text)), ("y", "x")))
    plan = Plan(str(folder / "records"), {os.path.realpath(path): tuple(targets)})
    (folder / "records").mkdir(exist_ok=True)
    plan.for_processes().write(folder / "plan.json")
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env=environment(folder / "plan.json"),
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or done.stderr


def _replay() -> float:
    import torch

    torch.set_num_threads(1)
    span = Span(Position(1, 1), Position(1, 13))
    site = Site(
        "SL101",
        "a.py",
        span,
        "torch.log(x)",
        "torch.log(x)",
        "torch.log(x.clamp_min(torch.finfo(x.dtype).tiny))",
        {"x": "x"},
        forward="x > 0",
        backward="x >= 2 / max",
        sample={"x": [0.01, 100.0]},
    )
    calls = [Call({"x": torch.rand(8, 4) + index}) for index in range(4)]
    times = []
    source = b"import torch\n"
    for _ in range(30):
        started = time.process_time()
        examine(site, source, calls, ran=True, reached=True, prepared=prepare(site, source))
        times.append(time.process_time() - started)
    return statistics.median(times) * 1000


def main() -> None:
    """Measure and print."""
    plain, probed = (
        "\n".join(f"    total = total + torch.log({name}).mean() * {index}" for index in range(SITES))
        for name in ("(y)", "y")
    )
    source = STEP.format(plain=plain, probed=probed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before, after = map(float, _run(folder, "step.py", source, ["torch.log(y)"]).split())
        print(f"step: {before:.2f} ms plain, {after:.2f} ms with {SITES} sites: {after / before - 1:+.1%}")
        early, late = map(float, _run(folder, "memory.py", MEMORY, ["torch.log(x)"]).split())
        print(f"peak memory: {early:.0f} MB after 5,000 calls of a site, {late:.0f} MB after 100,000")
    print(f"replay of a site: {_replay():.1f} ms of CPU")
    print(f"peak memory here: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
