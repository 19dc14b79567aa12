"""Ranks under torchrun: each watches, the guilty one names its expression, none waits for another."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.forks import Servers

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("no gloo", allow_module_level=True)
fsdp = pytest.importorskip("torch.distributed.fsdp")

HEAD = """
import sys
import torch
import torch.distributed as dist
from pathlib import Path
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed import fsdp
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)


def made(wrap):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 2, bias=False)
    )
    torch.manual_seed(rank)
    return eval(wrap)

"""
LOOP = """
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
"""
# A rank once aborted as its interpreter ended, with models left that hold their group in cycles: here none is left, and
# the ranks part together. Whether that was the cause is not shown.
END = """
import gc
model = None
gc.collect()
dist.barrier()
dist.destroy_process_group()
"""

SHARDED = "fsdp.fully_shard(model, mesh=init_device_mesh('cpu', (2,)))"
COPIED = "DistributedDataParallel(model)"
# A device is named because without one the wrapper takes the accelerator, and refuses to be made where there is none.
WRAPPED = "FullyShardedDataParallel(model, use_orig_params={}, device_id=torch.device('cpu'))"
BACKWARD = ("out.square().sum().sqrt()", "out.square().sum().sqrt()")
FORWARD = ("out.abs().log().mean()", "out.abs().log()")
OLD = not hasattr(fsdp, "fully_shard")  # it is public since torch 2.6
LAUNCH = [*(sys.executable, "-m", "torch.distributed.run"), "--standalone", "--nproc-per-node=2"]


def launched(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize(
    ("wrap", "fault"),
    [
        pytest.param(COPIED, BACKWARD, id="backward, ddp"),
        pytest.param(
            SHARDED, FORWARD, id="forward, fsdp", marks=pytest.mark.skipif(OLD, reason="needs torch 2.6")
        ),
    ],
)
def test_the_guilty_rank_is_named(wrap: str, fault: tuple[str, str], tmp_path: Path) -> None:
    loss, expression = fault
    program = f"{HEAD}model = made({wrap!r})\n{LOOP.replace('FAULT', loss)}{END}"
    (tmp_path / "train.py").write_text(program)
    run = [
        *(sys.executable, "-m", "stablelint", "run", "--output-format", "json"),
        "--output-file",
        "report.json",
        "--",
    ]
    done = launched(tmp_path, *run, *LAUNCH, "train.py")
    assert done.returncode == 1, done.stderr
    payload = json.loads((tmp_path / "report.json").read_text())
    event = payload["event"]
    assert event["rank"] == 1
    assert event["step"] == 3
    assert event["expression"] == expression
    assert "later" not in payload


KINDS = {
    "ddp": (COPIED, BACKWARD),
    "fsdp": (SHARDED, BACKWARD),
    "fsdp with original parameters": (WRAPPED.format(True), BACKWARD),
    "fsdp of flat parameters": (WRAPPED.format(False), BACKWARD),
    "forward, fsdp of flat parameters": (WRAPPED.format(False), FORWARD),
}
KINDS = {name: kind for name, kind in KINDS.items() if not (OLD and kind[0] == SHARDED)}
SKIPPED = """
import stablelint

with stablelint.guard(on_event="skip") as guard:
    # LOOP
event = guard.events[0]
finite = all(bool(p.detach().isfinite().all()) for p in model.parameters())
told = (event.step, event.rank, event.location.expression, len(guard.events), guard.watch.step, finite)
Path(f"{name}-{rank}").write_text(repr(told))
"""


# Two ranks that share what they import.
FORKED = """
import os, runpy, socket
from torch.distributed import fsdp
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
other = os.fork()
rank = "0" if other else "1"
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE="2", RANK=rank)
"""
JOINED = """
if other:
    print("the other rank ended with", os.waitpid(other, 0)[1])
"""


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> Path:
    """What each rank tells of each kind of model, trained one after the other by the same two processes."""
    folder = tmp_path_factory.mktemp("skipped")
    main = FORKED + HEAD
    for number, (name, (wrap, (loss, _))) in enumerate(KINDS.items()):
        loop = textwrap.indent(LOOP.replace("FAULT", loss), "    ")
        (folder / f"part{number}.py").write_text(SKIPPED.replace("    # LOOP", loop))
        shared = f"model=made({wrap!r}), name={name!r}, rank=rank, torch=torch, Path=Path"
        main += f"runpy.run_path('part{number}.py', dict({shared}))\n"
    (folder / "train.py").write_text(main + END + JOINED)
    printed = servers.printed(folder / "train.py")
    assert "the other rank ended with 0" in printed, printed
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_agree_and_skip_the_same_step(kind: str, skipped: Path) -> None:
    told = [(skipped / f"{kind}-{rank}").read_text() for rank in (0, 1)]
    assert told == [repr((3, 1, KINDS[kind][1][1], 1, 6, True))] * 2
