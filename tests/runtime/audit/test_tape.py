"""Losses that are computed anew: by copies of the models, and by torch's functions on what these give."""

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack  # noqa: E402

from stablelint.runtime.audit import Audit, Status  # noqa: E402
from stablelint.runtime.audit.outcome import Outcome  # noqa: E402
from tests.forks import Servers  # noqa: E402

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]


def trained(loss: Loss, rate: float = 1e-3, dropout: float = 0.0) -> Audit:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    x = torch.randn(8, 4)
    with Audit() as found:
        for _ in range(4):
            optimizer.zero_grad()
            loss(model, x, x[:, :2] * x[:, 2:]).backward()
            optimizer.step()
    assert not found.run.trouble
    return found


def said(found: Audit, check: str = "overfits-one-batch") -> Outcome:
    return next(one.outcome for one in found.results if one.check.name == check)


def by_hand(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return ((model(x) - y) ** 2).mean()


def by_columns(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    outputs = torch.zeros(8, 2)
    for place in range(2):
        outputs[:, place] = model(x)[:, place]
    total = torch.zeros(())
    total += (outputs - y).square().sum()
    return total


class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.criterion = nn.MSELoss(reduction="none")

    def forward(self, given: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return self.criterion(given, target).mean(), given.abs().mean()


def by_a_module_with_two_parts(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    error, size = Split()(model(x), y)
    return error + 1e-4 * size


@pytest.mark.parametrize("loss", [by_hand, by_columns, by_a_module_with_two_parts])
def test_the_loss_that_goes_backward_is_learned_by_heart(loss: Loss) -> None:
    found = trained(loss, dropout=0.1)
    assert said(found).status is Status.PASSED, said(found).evidence
    assert said(found, "usable-rate").status is Status.PASSED
    assert not _get_current_function_mode_stack()


def test_a_rate_is_tried_from_the_first_weights_on() -> None:
    outcome = said(trained(by_hand, rate=3.0), "usable-rate")
    assert outcome.status is Status.WARNED
    assert "the loop starts at 3" in outcome.evidence


def cut_off(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    parts = [by_hand(model, x, y), model(x).abs().mean()]
    return torch.tensor(parts, requires_grad=True).sum()


def test_a_loss_that_was_cut_off_is_not_tried_and_its_line_is_named() -> None:
    found = trained(cut_off)
    assert "reaches no parameter" in said(found).evidence
    outcome = said(found, "steps-have-gradients")
    assert outcome.status is Status.FAILED
    assert outcome.location is not None
    assert outcome.location.expression == "torch.tensor(parts, requires_grad=True)"


def of_a_root_of_nothing(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return (model(x) - y).square().mean() + (0 * model(x)).sqrt().mean()


def test_a_loss_that_becomes_nan_is_told_so() -> None:
    assert "→ nan" in said(trained(of_a_root_of_nothing)).evidence


def without_end(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return -(model(x) * y).mean()


def test_a_loss_that_falls_without_end_is_no_sign_of_learning() -> None:
    assert said(trained(without_end)).status is Status.UNSEEN


def of_a_share(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    kept = sum((one - one.detach()).square().sum() for one in model.parameters())
    return (model(x).sigmoid() - 3 * y).pow(2).mean() + 1e-3 * kept


def test_what_a_loss_that_is_written_out_asks_for_is_seen() -> None:
    outcome = said(trained(of_a_share), "reachable-targets")
    assert outcome.status is Status.FAILED
    assert outcome.location is not None
    assert outcome.location.expression == "(model(x).sigmoid() - 3 * y).pow(2)"
    assert said(trained(by_hand), "reachable-targets").evidence == "1 call"


class Spread(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> tuple[torch.distributions.Normal, Tensor]:
        given = self.inner(x)
        return torch.distributions.Normal(given, torch.ones(())), given.mean()


def of_a_distribution(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    spread, size = Spread(model)(x)
    return size**2 - spread.log_prob(y).mean()


def test_a_loss_whose_parts_are_not_all_known_is_not_tried() -> None:
    assert said(trained(of_a_distribution)).status is Status.UNSEEN


class Counting(TorchFunctionMode):
    count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_modes_of_the_program_stay_in_order() -> None:
    own = Counting()

    def within(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        given = model(x)
        with own:
            loss = (given - y).square().mean()
        assert own not in _get_current_function_mode_stack()
        own.__enter__()
        return loss

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Audit():
        within(model, torch.randn(8, 4), torch.randn(8, 2)).backward()
        optimizer.step()
        assert _get_current_function_mode_stack() == [own]
        own.__exit__(None, None, None)
    assert own.count > 3
    assert not _get_current_function_mode_stack()


def test_a_pass_without_backward_is_left() -> None:
    with Audit() as found:
        nn.Linear(4, 2)(torch.randn(8, 4)).sum()
    assert not found.run.trouble
    assert not _get_current_function_mode_stack()


def compiled() -> str:
    """What is said of a loss of a model that is compiled, and the modes that are left."""
    inner = nn.Linear(4, 2)

    def within(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        given = inner(x)
        run = torch.compile(model, backend="eager")
        return (run(x) + run(2 * x) + given - y).square().mean()

    return f"{said(trained(within)).status.name} {_get_current_function_mode_stack()}"


def test_what_is_compiled_runs_without_a_tape(tmp_path: Path, servers: Servers) -> None:
    # The compiler changes torch for its whole process.
    code = "from tests.runtime.audit.test_tape import compiled; print(compiled())"
    assert servers.answered(code, tmp_path) == "UNSEEN []"
