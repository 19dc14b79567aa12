"""Capture and replay where the operands are: on a GPU, if there is one."""

import sys
from pathlib import Path

import pytest
import torch

from stablelint.runtime.verify.site import Verdict
from tests.runtime.verify.programs import site_at
from tests.runtime.verify.runs.test_capture import capture
from tests.runtime.verify.support import LOG, replay

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

PROGRAM = """\
import torch


def loss(p):
    return torch.log(p).mean()


w = torch.ones(4, device="cuda", requires_grad=True)
for step in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        loss(torch.relu(w - step)).backward()
static = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(graph):
    captured = loss(static)
graph.replay()
assert bool(torch.isfinite(captured))
"""


def test_operands_stay_on_their_device(tmp_path: Path) -> None:
    path = tmp_path / "gpu.py"
    path.write_text(PROGRAM, encoding="utf-8")
    fixed = "torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))"
    site = site_at(path, "torch.log(p)", fixed, {"x": "p"}, **LOG)
    ending, _, found = capture(tmp_path, {"log": site}, [sys.executable, "gpu.py"])
    assert ending.status == 0, (tmp_path / "output.txt").read_text()
    log = found["log"]
    assert log.calls == 3
    assert log.compiled == 1, "a probe steps aside while a graph is recorded"
    assert {call.context.device for call in log.kept} == {"cuda:0"}
    shown = replay(site, log.kept, source=path.read_bytes())
    assert shown.decision.verdict is Verdict.CONFIRMED
    assert shown.decision.witness is not None
    assert {value.device.type for value in shown.decision.witness.original.values} == {"cuda"}


def test_the_curve_of_operands_on_a_gpu_has_their_histogram() -> None:
    from stablelint.runtime.verify.output.curve import curve_of
    from stablelint.runtime.verify.replay.compare import prepare
    from tests.runtime.verify.support import call, site

    log = site("torch.log(x)", "torch.log(x.clamp_min(1e-30))", {"x": "x"}, **LOG)
    curve = curve_of(prepare(log, b"import torch\n"), [call(x=torch.tensor([0.5, 2.0], device="cuda"))])
    assert curve is not None
    assert sum(curve.captured) == 2


def test_a_replay_leaves_the_random_state_of_the_device_alone() -> None:
    torch.cuda.manual_seed(1)
    expected = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(1)
    operands = torch.ones(3, device="cuda")
    from tests.runtime.verify.support import call, site

    replay(site("x.log() * torch.rand_like(x)", None, {"x": "x"}, **LOG), [call(x=operands)])
    assert torch.equal(torch.rand(3, device="cuda"), expected)
