"""A model inside `DataParallel`: one process, a thread for each device, or none where there is one device at most."""

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Guard, NonFiniteError  # noqa: E402
from stablelint.runtime.guard.reporting.event import Origin  # noqa: E402


class Distance(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).square().sum(-1).sqrt()


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, device: str) -> None:
    for step in range(6):
        x = torch.randn(4, 3, device=device)
        if step == 4:
            x[3] = 0.0
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()


def devices() -> list[list[int]]:
    counted = torch.cuda.device_count()
    return [[]] if counted == 0 else [[0], list(range(counted))] if counted > 1 else [[0]]


@pytest.mark.parametrize("ids", devices(), ids=str)
def test_the_expression_inside_the_wrapped_module_is_named(ids: list[int]) -> None:
    torch.manual_seed(0)
    device = "cuda" if ids else "cpu"
    model = torch.nn.DataParallel(Distance().to(device), device_ids=ids or None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Guard(model, optimizer) as guard, pytest.raises(NonFiniteError):
        train(model, optimizer, device)
    [event] = guard.events
    assert event.location is not None
    assert (event.step, event.location.expression) == (4, "self.layer(x).square().sum(-1).sqrt()")
    assert (event.origin, event.parameter) == (Origin.BACKWARD, "module.layer.weight")
    assert event.module is not None
    assert event.module.endswith("module")
    assert event.exact or len(ids) > 1
    assert all(bool(one.isfinite().all()) for one in model.parameters())
