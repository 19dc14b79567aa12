"""The guard as an object: reactions, hand-written loops, closures, memory, threads."""

import gc
import itertools
import pickle
import runpy
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard, NonFiniteError  # noqa: E402
from stablelint.runtime.tracing.operation import results_of  # noqa: E402

torch.set_num_threads(1)


def train(steps: int, bad: int | None, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for step in range(steps):
        x = torch.randn(4, 3)
        out = model(x)
        if step == bad:
            out = out - out.detach()
        optimizer.zero_grad()
        loss = out.square().sum().sqrt()
        loss.backward()
        optimizer.step()


@pytest.fixture
def pair() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def test_parameters_are_untouched_when_it_raises(pair: tuple) -> None:
    model, optimizer = pair
    with pytest.raises(NonFiniteError) as caught, Guard(model, optimizer):
        train(5, 3, model, optimizer)
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())
    assert caught.value.event.step == 3
    assert caught.value.event.location is not None
    assert caught.value.event.location.expression == "out.square().sum().sqrt()"
    assert caught.value.event.exact


def test_weights_that_are_written_by_hand_are_not_reported_again() -> None:
    w, x = torch.ones(2, requires_grad=True), torch.ones(4, 2)
    with Guard(on_event=lambda _: None) as guard:
        for step in range(4):
            loss = (x @ w - (2.0 if step == 1 else 5.0)).square().sum().log()
            loss.backward()
            with torch.no_grad():
                w -= 0.0 * w.grad
                w.grad = None
    assert [event.step for event in guard.events] == [1]


def test_memory_that_an_operation_worked_in_is_no_result() -> None:
    loss, worked_in = torch.tensor([1.0]), torch.tensor([float("nan")])
    assert results_of(torch.ops.aten._ctc_loss.default, (loss, worked_in)) == (loss,)
    assert results_of(torch.ops.aten.log.default, loss) is loss


def test_a_pool_can_hand_the_error_on(pair: tuple) -> None:
    with pytest.raises(NonFiniteError) as caught, Guard(*pair):
        train(5, 3, *pair)
    told = pickle.loads(pickle.dumps(caught.value))
    assert str(told) == str(caught.value)
    assert repr(told.event) == repr(caught.value.event)  # NaN equals nothing


def test_torch_is_as_before_when_it_ends(pair: tuple) -> None:
    backward, scale = torch.autograd.backward, torch.amp.GradScaler.scale
    with Guard(*pair):
        assert torch.autograd.backward is not backward
    assert torch.autograd.backward is backward
    assert torch.amp.GradScaler.scale is scale


def test_a_watched_run_gives_the_same_numbers(pair: tuple) -> None:
    model, optimizer = pair
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(1)
    train(20, None, model, optimizer)
    plain = [parameter.clone() for parameter in model.parameters()]
    model.load_state_dict(start)
    torch.manual_seed(1)
    with Guard(model, optimizer):
        train(20, None, model, optimizer)
    assert all(torch.equal(one, other) for one, other in zip(plain, model.parameters(), strict=True))


def test_a_warned_run_draws_the_same_random_numbers(pair: tuple) -> None:
    model, optimizer = pair
    torch.manual_seed(1)
    train(4, 3, model, optimizer)
    plain = torch.randn(3)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(1)
    with Guard(model, optimizer, on_event="warn"), pytest.warns(RuntimeWarning, match="sqrt"):
        train(4, 3, model, optimizer)
    assert torch.equal(torch.randn(3), plain)


def test_skip_drops_the_step_and_goes_on(pair: tuple) -> None:
    model, optimizer = pair
    with Guard(model, optimizer, on_event="skip") as guard, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(8, 3, model, optimizer)
    assert len(guard.events) == 1
    assert guard.watch.step == 8
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_a_callable_gets_the_event(pair: tuple) -> None:
    model, optimizer = pair
    seen: list[Event] = []
    with Guard(model, optimizer, on_event=seen.append):
        train(4, 3, model, optimizer)
    assert [event.step for event in seen] == [3]


def test_what_a_passed_fault_leads_to_is_no_event_of_its_own(pair: tuple) -> None:
    model, optimizer = pair
    with Guard(model, optimizer, on_event=lambda event: None) as guard:
        train(8, 3, model, optimizer)
        assert [event.step for event in guard.events] == [3]
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(0.5)
        train(4, 2, model, optimizer)
    assert [event.step for event in guard.events] == [3, 10]
    assert [record.step for record in guard.events[1].history] == list(range(11))


def test_a_writer_gets_the_course_of_the_run_and_the_event(pair: tuple) -> None:
    class Writer:
        def __init__(self) -> None:
            self.scalars: list[tuple[str, float, int]] = []
            self.texts: list[tuple[str, str, int]] = []

        def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
            self.scalars.append((tag, scalar_value, global_step))

        def add_text(self, tag: str, text_string: str, global_step: int) -> None:
            self.texts.append((tag, text_string, global_step))

    writer = Writer()
    with Guard(*pair, writer=writer), pytest.raises(NonFiniteError):
        train(30, 25, *pair)
    assert [step for tag, _, step in writer.scalars if tag == "stablelint/loss"] == [0, 10, 20]
    assert [step for tag, _, step in writer.scalars if tag == "stablelint/gradient_norm"] == [0, 10, 20]
    assert [(tag, step) for tag, _, step in writer.texts] == [("stablelint/event", 25)]
    assert "out.square().sum().sqrt()" in writer.texts[0][1]


def test_a_log_that_cannot_be_written_is_said_so(pair: tuple, tmp_path: Path) -> None:
    with (
        Guard(*pair, log=tmp_path),
        pytest.raises(NonFiniteError),
        pytest.warns(UserWarning, match="cannot write"),
    ):
        train(3, 1, *pair)


def test_only_the_given_optimizer_is_watched(pair: tuple) -> None:
    other = torch.nn.Linear(3, 2)
    with Guard(*pair) as guard:
        train(3, None, other, torch.optim.SGD(other.parameters(), lr=0.01))
    assert guard.watch.step == 0


def test_a_loop_without_an_optimizer_is_checked_by_hand() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1, bias=False)
    guard = Guard(model)
    event = None
    try:
        for step in range(5):
            x = torch.randn(4, 3) * (step != 2)
            loss = model(x).square().mean().sqrt()
            loss.backward()
            guard.step(loss)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
    except NonFiniteError as error:
        event = error.event
    finally:
        guard.stop()
    assert event is not None
    assert event.step == 2
    assert event.location is not None
    assert event.location.expression == "model(x).square().mean().sqrt()"
    assert event.exact


TWO_OPTIMIZERS = """\
import torch

torch.manual_seed(0)
generator, critic = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
first = torch.optim.SGD(critic.parameters(), lr=0.5)
second = torch.optim.SGD(generator.parameters(), lr=0.01)
for step in range(4):
    fake = generator(torch.randn(8, 2))
    critic_loss = critic(fake.detach()).square().mean()
    first.zero_grad()
    critic_loss.backward()
    first.step()
    score = torch.relu(critic(fake) - {shift})
    loss = torch.log(score).mean()
    second.zero_grad()
    loss.backward()
    second.step()
"""


@pytest.mark.parametrize(
    "shift", ["1000 * (step == 2)", "critic_loss.detach() * 0 - 1000 * (step - 2).__abs__()"]
)
def test_what_another_optimizers_step_has_outdated_is_no_difference_unless_it_is_used(
    shift: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(TWO_OPTIMIZERS.format(shift=shift), encoding="utf-8")
    with Guard(), pytest.raises(NonFiniteError) as caught:
        runpy.run_path(str(path))
    event = caught.value.event
    assert event.location is not None
    assert event.location.expression == "torch.log(score)"
    assert event.exact is ("critic_loss" not in shift)


def test_a_given_step_is_what_is_replayed() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())
    calls = itertools.count()  # which a replay does not take back

    def step(x: torch.Tensor) -> torch.Tensor:
        next(calls)
        optimizer.zero_grad()
        loss = torch.log(model(x + torch.randn_like(x)) * 0).mean()
        loss.backward()
        optimizer.step()
        return loss

    with Guard(model, optimizer) as guard, pytest.raises(NonFiniteError) as caught:
        guard.run(step, torch.zeros(2, 3))
    event = caught.value.event
    assert next(calls) == 2
    assert event.location is not None
    assert event.location.expression.startswith("torch.log(")
    assert event.exact


def test_a_step_that_cannot_be_replayed_is_said_so_with_what_is_known(pair: tuple) -> None:
    model, optimizer = pair
    stream = [torch.randn(4, 3) for _ in range(3)] + [torch.full((4, 3), torch.nan), torch.ones(4, 3)]

    def run() -> None:
        while True:
            x = stream.pop(0)  # a replay gets the batch after it
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()

    with Guard(model, optimizer), pytest.raises(NonFiniteError) as caught:
        run()
    event = caught.value.event
    assert (event.step, event.exact, event.operation) == (3, False, None)
    assert event.note is not None
    assert "differs from run to run" in event.note
    assert len(event.history) == 4
    assert event.location is not None
    assert event.location.expression == "loss.backward()"


def test_memory_stays_flat(pair: tuple) -> None:
    model, optimizer = pair
    snapshots = []
    with Guard(model, optimizer, history=16):
        train(200, None, model, optimizer)
        tracemalloc.start()
        for _ in range(4):
            train(400, None, model, optimizer)
            gc.collect()
            snapshots.append(tracemalloc.take_snapshot())
        tracemalloc.stop()
    # A table that grows by chance does so in one of these spans; what steps leave behind, in all of them.
    assert min(grown(before, after) for before, after in pairwise(snapshots)) < 2048


def grown(before: tracemalloc.Snapshot, after: tracemalloc.Snapshot) -> int:
    """The bytes that the guard holds in addition."""
    differences = after.compare_to(before, "filename")
    return sum(item.size_diff for item in differences if "stablelint" in item.traceback[0].filename)


def test_thousands_of_steps_leave_nothing_behind() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-9)

    def objects_after(steps: int) -> int:
        for _ in range(steps):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
        gc.collect()
        return len(gc.get_objects())

    with Guard(history=16) as guard:
        before = objects_after(1_000)
        assert objects_after(4_000) - before < 100
        assert guard.watch.step == 5_000


def test_threads_are_watched_apart() -> None:
    found: dict[str, Event] = {}

    def work(name: str, bad: int | None) -> Callable[[], None]:
        def body() -> None:
            model = torch.nn.Linear(3, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            try:
                train(6, bad, model, optimizer)
            except NonFiniteError as error:
                found[name] = error.event

        return body

    with Guard():
        threads = [threading.Thread(target=work("good", None)), threading.Thread(target=work("bad", 4))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(found) == {"bad"}
    location = found["bad"].location
    assert location is not None
    assert location.expression == "out.square().sum().sqrt()"


def test_compiled_models_are_replayed_eagerly() -> None:
    torch.manual_seed(0)
    inner = torch.nn.Linear(3, 2, bias=False)
    model = torch.compile(inner, backend="eager")
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.01)

    def run() -> None:
        for step in range(3):
            loss = model(torch.randn(4, 3) * (step != 2)).pow(2).sum().sqrt()
            loss.backward()
            optimizer.step()

    with Guard(), pytest.raises(NonFiniteError) as caught:
        run()
    assert caught.value.event.location is not None
    assert caught.value.event.location.expression.endswith(".sqrt()")
