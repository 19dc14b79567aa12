"""Before the NaN: gradient norms beyond a limit, layers that are skipped, and what layers and parameters held."""

import math
import warnings
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Guard, NonFiniteError  # noqa: E402
from stablelint.runtime.guard.reporting.event import Warned  # noqa: E402

torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def diverge(model: torch.nn.Module, rate: float = 0.8, steps: int = 40) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        loss = model(torch.ones(2, 4)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.fixture
def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return Net()


def test_growth_is_warned_of_before_the_step_that_overflows(net: torch.nn.Module) -> None:
    told: list[Warned] = []
    with (
        Guard(norm_limit="learned", on_warned=told.append) as guard,
        pytest.raises(NonFiniteError) as caught,
    ):
        diverge(net)
    event = caught.value.event
    assert told == guard.warned == list(event.warned)
    assert told[0].step < event.step
    assert told[0].learned
    assert told[0].layer in {"body.weight", "body.bias", "head.weight", "head.bias"}
    assert told[0].layer_norm is not None
    assert told[0].layer_norm <= told[0].norm
    assert all(one.norm > 10 * before.norm for before, one in pairwise(told))


def test_a_limit_that_was_given_is_warned_of_at_once(net: torch.nn.Module) -> None:
    with (
        Guard(net, norm_limit=1e-3),
        pytest.warns(RuntimeWarning, match="step 0: .* limit that was given; most"),
    ):
        diverge(net, rate=1e-3, steps=2)


def test_a_clipped_norm_is_told_as_it_was(net: torch.nn.Module) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    told: list[Warned] = []
    with Guard(net, norm_limit=1.0, on_warned=told.append) as guard:
        net(torch.full((2, 4), 50.0)).square().sum().backward()
        before = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    assert told[0].norm == pytest.approx(float(before))
    assert guard.watch.history.records()[0].gradient_norm == pytest.approx(float(before))


def test_a_healthy_run_warns_of_nothing(net: torch.nn.Module) -> None:
    with warnings.catch_warnings(), Guard(net, norm_limit="learned") as guard:
        warnings.simplefilter("error")
        diverge(net, rate=1e-3)
    assert not guard.warned


def test_a_skipped_layer_raises_no_alarm(net: torch.nn.Module) -> None:
    def spoil(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * math.nan

    assert isinstance(net.head, torch.nn.Linear)
    net.head.bias.register_hook(spoil)
    with Guard(net, skip=["body.*"]), pytest.raises(NonFiniteError):
        diverge(net, rate=1e-3, steps=1)
    with Guard(net, skip=["head.*"]) as guard:
        diverge(net, rate=1e-3, steps=1)
    assert not guard.events


def test_the_report_holds_parameters_and_what_layers_handed_out(net: torch.nn.Module) -> None:
    with Guard(net, stats=True), pytest.raises(NonFiniteError) as caught:
        diverge(net)
    event = caught.value.event
    assert {one.name for one in event.parameters} == {"body.weight", "body.bias", "head.weight", "head.bias"}
    assert all(one.norm is not None and one.norm >= 0 for one in event.parameters)
    assert [one.name for one in event.activations] == ["body", "head"]
    body = event.activations[0]
    assert body.before is not None
    assert body.largest > body.before
    assert not torch.nn.modules.module._global_forward_hooks
