"""A replay beside threads that wait for the step, or that the step waits for."""

import queue
import threading
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard  # noqa: E402

STEPS = 4


class Meeting:
    """What a learner asks of another thread in every step."""

    def __init__(self) -> None:
        self.batches: queue.Queue[torch.Tensor] = queue.Queue()
        self.lock, self.limit = threading.Lock(), threading.Semaphore(1)
        self.barrier, self.turn = threading.Barrier(2), threading.Condition()
        self.losses: list[float] = []
        self.turns = 0

    def learn(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for step in range(STEPS):
            self.barrier.wait()
            batch = self.batches.get()
            with self.lock, self.limit:
                out = model(batch)
                loss = (out - out.detach() if step == 2 else out).square().sum().log()
                optimizer.zero_grad()
                loss.backward()
                optimizer.zero_grad() if step == 2 else optimizer.step()
            with self.turn:
                self.turns += 1
                self.turn.notify_all()
            self.batches.task_done()
            self.losses.append(loss.item())

    def hand_out(self) -> None:
        generator = torch.Generator().manual_seed(0)
        for step in range(STEPS):
            self.batches.put(torch.rand(2, 3, generator=generator))
            self.barrier.wait()
            with self.turn:
                self.turn.wait_for(lambda before=step: self.turns > before)
        self.batches.join()


def trained(watching: Callable[[torch.nn.Module, torch.optim.Optimizer], Guard] | None) -> Meeting:
    torch.manual_seed(0)
    model, meeting = torch.nn.Linear(3, 2), Meeting()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def learn() -> None:
        if watching is None:
            meeting.learn(model, optimizer)
            return
        with watching(model, optimizer):
            meeting.learn(model, optimizer)

    threads = [threading.Thread(target=one, daemon=True) for one in (learn, meeting.hand_out)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return meeting


def test_nobody_is_waited_for_or_woken_and_nothing_is_taken() -> None:
    seen: list[Event] = []
    alone = trained(None)
    guarded = trained(lambda *what: Guard(*what, on_event=seen.append))
    (event,) = seen
    assert event.step == 2
    assert event.location is not None
    assert event.location.expression.endswith(".square().sum().log()")
    assert event.exact
    assert (guarded.losses, guarded.turns) == (alone.losses, alone.turns)
    assert guarded.batches.empty()
