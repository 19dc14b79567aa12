"""A guard with TensorBoard's own writer: what stands in the file afterwards; skipped where it is not installed."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402

from stablelint.runtime.guard import Guard, NonFiniteError  # noqa: E402


def train(losses: list[float], model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for step in range(20):
        out = model(torch.randn(4, 3))
        loss = (out - out.detach() if step == 12 else out).square().sum().sqrt()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_the_file_holds_the_course_of_the_run_and_the_event(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    pair = model, torch.optim.SGD(model.parameters(), lr=0.01)
    losses: list[float] = []
    with (
        SummaryWriter(tmp_path) as writer,
        Guard(*pair, writer=writer),
        pytest.raises(NonFiniteError),
    ):
        train(losses, *pair)
    written = EventAccumulator(str(tmp_path))
    written.Reload()
    scalars = written.Scalars("stablelint/loss")
    assert [one.step for one in scalars] == [0, 10]
    assert [one.value for one in scalars] == pytest.approx([losses[0], losses[10]])
    assert [one.step for one in written.Scalars("stablelint/gradient_norm")] == [0, 10]
    [event] = written.Tensors("stablelint/event/text_summary")
    assert event.step == 12
    assert b"square().sum().sqrt()" in event.tensor_proto.string_val[0]
