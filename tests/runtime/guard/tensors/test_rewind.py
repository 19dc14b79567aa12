"""Random generators are taken back by the draws that are known to have been made."""

import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from stablelint.runtime.guard import Guard, NonFiniteError  # noqa: E402
from stablelint.runtime.guard.tensors.rewind import rewound  # noqa: E402
from stablelint.runtime.tensors.state import current_state, moved  # noqa: E402


def draw(counts: tuple[int, int, int]) -> tuple[list[float], list[float], list[float]]:
    return (
        torch.rand(counts[0]).tolist(),
        [random.random() for _ in range(counts[1])],
        numpy.random.rand(counts[2]).tolist(),
    )


@settings(max_examples=25, deadline=None)
@example((0, 0, 0), (0, 0, 0))
@given(st.tuples(*[st.integers(0, 3000)] * 3), st.tuples(*[st.integers(0, 3000)] * 3))
def test_the_draws_behind_the_present_state_are_made_again(
    step: tuple[int, int, int], between: tuple[int, int, int]
) -> None:
    torch.manual_seed(0)
    numpy.random.rand()
    begun = current_state()
    draw(step)
    ended = current_state()
    draw(between)
    drawn = draw(step)
    now = current_state()
    start = rewound(begun, ended, now)
    assert start is not None
    start.restore()
    assert draw(step) == drawn
    assert not any(moved(current_state(), now))


def test_the_first_step_is_replayed_with_the_numbers_that_it_drew() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []

    def train() -> None:
        torch.randn(1000), random.random()  # drawn after the guard began to watch
        for _ in range(2):
            x = torch.rand(4, 3) + random.random()
            seen.append(x)
            loss = torch.log(model(x) * 0).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with Guard(model, optimizer), pytest.raises(NonFiniteError) as caught:
        train()
    event = caught.value.event
    assert (event.step, event.exact, event.compared) == (0, True, ("x",))
    assert all(torch.equal(seen[0], one) for one in seen[-1:])


@pytest.mark.parametrize(
    "draw", [lambda x: torch.poisson(3 * x), torch._standard_gamma], ids=["poisson", "gamma"]
)
def test_so_is_one_whose_numbers_decide_how_many_follow(draw: Callable[[torch.Tensor], torch.Tensor]) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train() -> None:
        for _ in range(2):
            x = torch.rand(16, 4)
            y = draw(x)
            loss = torch.log(model(x) * 0 * y).mean()
            loss.backward()
            optimizer.step()

    with Guard(), pytest.raises(NonFiniteError) as caught:
        train()
    event = caught.value.event
    assert (event.step, event.exact, event.compared) == (0, True, ("x", "y"))


def test_gradients_that_are_set_by_hand_are_told_by_what_made_them_and_not_by_a_loss() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def train() -> None:
        for step in range(3):
            scores = torch.arange(4.0) * (step != 1)
            weight.grad = (scores / scores.std()).mean() * torch.ones(2)
            optimizer.step()

    with Guard(), pytest.raises(NonFiniteError) as caught:
        train()
    event = caught.value.event
    assert (event.step, event.loss, event.exact, event.compared) == (1, None, True, ("scores",))


def test_what_was_computed_ahead_of_another_optimizers_step_casts_no_doubt_where_nothing_reads_it_then() -> (
    None
):
    first, second = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    one, other = (torch.optim.SGD(model.parameters(), lr=0.1) for model in (first, second))

    def update(step: int) -> float:
        x = torch.rand(4, 2)
        early = first(x).square().mean()
        early.backward()
        one.step()
        noise = torch.rand(4, 1) * (step != 1)
        late = (noise * second(x)).square().mean().log()
        late.backward()
        other.step()
        return early.item()

    with Guard(), pytest.raises(NonFiniteError) as caught:
        list(map(update, range(2)))
    event = caught.value.event
    assert (event.exact, event.compared) == (True, ("x", "noise"))


def test_nan_equals_nan_is_no_proof() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def train() -> None:
        while True:
            loss = (weight * torch.nan).sum()
            loss.backward()
            optimizer.step()

    with Guard(), pytest.raises(NonFiniteError) as caught:
        train()
    event = caught.value.event
    assert (event.exact, event.compared) == (False, ())
    assert event.note is not None
    assert "no finite value" in event.note
