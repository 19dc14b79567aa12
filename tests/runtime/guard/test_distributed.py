"""Ranks under torchrun: each watches, the guilty one names its expression, none waits for another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("no gloo", allow_module_level=True)

PROGRAM = """
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 2, bias=False))
model = WRAP
torch.manual_seed(rank)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(4, 3)
    if step == 3 and rank == 1:
        x = x * 0
    optimizer.zero_grad()
    out = model(x)
    loss = FAULT
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


SHARDED = "fully_shard(model, mesh=init_device_mesh('cpu', (2,)))"
COPIED = "DistributedDataParallel(model)"
# A device is named because without one the wrapper takes the accelerator, and refuses to be made where there is none.
WRAPPED = "FullyShardedDataParallel(model, use_orig_params={}, device_id=torch.device('cpu'))"
SKIPPED = """
import sys
import stablelint
from pathlib import Path

guard = stablelint.guard(on_event="skip")
guard.start()
"""
TOLD = """
event = guard.events[0]
finite = all(bool(p.detach().isfinite().all()) for p in model.parameters())
told = (event.step, event.rank, event.location.expression, len(guard.events), guard.watch.step, finite)
Path(f"rank-{rank}").write_text(repr(told))
"""


@pytest.mark.parametrize(
    ("wrap", "fault", "expression"),
    [
        (COPIED, "out.square().sum().sqrt()", "out.square().sum().sqrt()"),
        (SHARDED, "out.abs().log().mean()", "out.abs().log()"),
        (WRAPPED.format(False), "out.abs().log().mean()", "out.abs().log()"),
    ],
    ids=["backward, ddp", "forward, fsdp", "forward, fsdp of flat parameters"],
)
def test_the_guilty_rank_is_named(wrap: str, fault: str, expression: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("FAULT", fault).replace("WRAP", wrap))
    command = [
        *(sys.executable, "-m", "torch.distributed.run"),
        "--standalone",
        "--nproc-per-node=2",
        "train.py",
    ]
    done = subprocess.run(
        [*(sys.executable, "-m", "stablelint", "run", "--output-format", "json"), "--", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 1, done.stderr
    payload = json.loads(done.stdout[done.stdout.index("{") :])
    event = payload["event"]
    assert event["rank"] == 1
    assert event["step"] == 3
    assert event["expression"] == expression
    assert "later" not in payload


@pytest.mark.parametrize(
    "wrap",
    [COPIED, SHARDED, WRAPPED.format(True), WRAPPED.format(False)],
    ids=["ddp", "fsdp", "fsdp with original parameters", "fsdp of flat parameters"],
)
def test_ranks_agree_and_skip_the_same_step(wrap: str, tmp_path: Path) -> None:
    head, end = (
        PROGRAM.replace("FAULT", "out.square().sum().sqrt()").replace("WRAP", wrap).split("dist.destroy")
    )
    (tmp_path / "train.py").write_text(SKIPPED + head + TOLD + "dist.destroy" + end)
    done = subprocess.run(
        [*(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"), "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    told = [(tmp_path / f"rank-{rank}").read_text() for rank in (0, 1)]
    assert told == ["(3, 1, 'out.square().sum().sqrt()', 1, 6, True)"] * 2
