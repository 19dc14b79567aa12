"""Eager against compiled: the operation that a backend gets wrong, and a script that shows it."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.compare.command import Setup
from stablelint.runtime.compare.compiling.session import compare_compiled
from stablelint.runtime.compare.outcome import Comparison
from stablelint.runtime.compare.session import Session

PROGRAM = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(12, 16)
        self.norm = nn.LayerNorm(16)
        self.batches = nn.BatchNorm1d(16)
        self.table = nn.Parameter(torch.randn(16, 6))

    def forward(self, x):
        h = F.gelu(self.batches(self.inner(x)))
        h = self.norm(h * 0.01)
        weights = F.softmax(h * 3, dim=-1)
        h = F.leaky_relu(weights - h, 0.01)
        spread = (h.var(-1, keepdim=True) + 1e-3).sqrt()
        h = h / spread * (h * h).sum(-1, keepdim=True).sigmoid()
        return (h @ self.table * 20).log_softmax(-1)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(24, 12), torch.randint(6, (24,))
for step in range(3):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
FAULTS = {
    "other_momentum": "self.batches(self.inner(x))",  # in what it writes alone
    "other_gelu": "F.gelu(self.batches(self.inner(x)))",
    "dropped_epsilon": "self.norm(h * 0.01)",
    "other_dimension": "F.softmax(h * 3, dim=-1)",
    "swapped_operands": "weights - h",
    "other_slope": "F.leaky_relu(weights - h, 0.01)",
    "other_variance": "h.var(-1, keepdim=True)",
    "lost_constant": "h.var(-1, keepdim=True) + 1e-3",
    "truncated_root": "(h.var(-1, keepdim=True) + 1e-3).sqrt()",
    "half_sum": "(h * h).sum(-1, keepdim=True)",
    "wrong_gradient": "(h * h).sum(-1, keepdim=True).sigmoid()",
    "half_product": "h @ self.table",
    "unstable_logarithm": "(h @ self.table * 20).log_softmax(-1)",
}


def compiled(folder: Path, backend: str) -> Comparison:
    (folder / "train.py").write_text(PROGRAM)
    (folder / "backends.py").write_text(Path(__file__).with_name("backends.py").read_text())
    session = Session(folder / "runs")
    return compare_compiled(
        session, Setup(("python", "train.py"), "the command"), backend, folder / "repro.py"
    )


@pytest.mark.parametrize("name", FAULTS)
def test_names_the_operation_that_a_backend_gets_wrong(
    quick: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "stablelint.runtime.compare.compiling.session._shows", lambda script: True
    )  # a run of its own each
    found = compiled(quick, f"backends:{name}")
    assert found.difference is not None
    assert found.difference.first is not None
    assert found.difference.first.expression == FAULTS[name]
    assert found.script is not None
    assert 0 < found.script["operations"] <= 15


def test_the_script_runs_alone_and_shows_the_fault(quick: Path) -> None:
    found = compiled(quick, "backends:half_sum")
    assert found.script is not None
    assert found.script["shows"]


@pytest.mark.parametrize("backend", ["backends:right", "aot_eager", "aot_eager_decomp_partition"])
def test_a_backend_that_is_right_is_the_same(quick: Path, backend: str) -> None:
    found = compiled(quick, backend)
    assert found.same, found
    eager, other = ([loss for _, loss in run.losses] for run in found.runs)
    assert len(eager) == 3
    assert other == pytest.approx(eager, rel=1e-4)
