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
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(3, 2, bias=False))
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


@pytest.mark.parametrize(
    ("fault", "expression"),
    [
        ("out.square().sum().sqrt()", "out.square().sum().sqrt()"),
        ("out.abs().log().mean()", "out.abs().log()"),
    ],
    ids=["backward", "forward"],
)
def test_the_guilty_rank_is_named(fault: str, expression: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("FAULT", fault))
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
    assert all(other["event"]["step"] == 3 for other in payload.get("later", []))
