"""What an optimizer of the program writes into the parameters."""

from collections.abc import Iterable

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard  # noqa: E402
from stablelint.runtime.guard.reporting.event import Phase  # noqa: E402


class Scaled(torch.optim.Optimizer):
    """Divides each gradient by the root of its mean square."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:
        for group in self.param_groups:
            for one in group["params"]:
                squares = self.state[one].setdefault("squares", torch.zeros_like(one))
                squares.mul_(0.9).addcmul_(one.grad, one.grad, value=0.1)
                one.sub_(group["lr"] * (one.grad / squares.sqrt()))


def test_its_expression_is_named_and_nothing_is_written_twice() -> None:
    table, events = torch.nn.Embedding(4, 2), list[Event]()
    optimizer = Scaled(table.parameters())
    with Guard(table, optimizer, on_event=events.append):
        for step in range(2):
            optimizer.zero_grad()
            table(torch.arange(4)).square().sum().backward()
            state = optimizer.state[table.weight]
            if step == 1:
                table.weight.grad[2], state["squares"][2] = 0.0, 0.0
                before = state["squares"].clone()
            optimizer.step()
    (event,) = events
    assert event.phase is Phase.OPTIMIZER
    assert event.step == 1
    assert event.location is not None
    assert event.location.expression == "one.grad / squares.sqrt()"
    torch.testing.assert_close(state["squares"], 0.9 * before + 0.1 * table.weight.grad.square())


def test_of_two_optimizers_the_one_that_holds_the_parameter_is_named() -> None:
    model, events = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)), list[Event]()
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    second = torch.optim.Adam(model[1].parameters(), lr=0.1)
    with Guard(model, on_event=events.append):
        for rate in (0.1, float("inf"), float("inf")):
            second.param_groups[0]["lr"] = rate
            model(torch.ones(8, 4)).square().mean().backward()
            first.step()
            second.step()
    assert events[0].phase is Phase.OPTIMIZER
    assert events[0].note == "The learning rate of Adam is inf."
