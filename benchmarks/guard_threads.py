"""The guard among threads: every thread trains a model of its own, most of them go wrong again and again.

Half of the threads are watched by one guard for all, a quarter have a guard of their own that comes and goes, the
rest train a model that no guard was given. All print, draw random numbers, and normalise by running statistics. The
process must live, every line must be printed, each alarm must name its expression, and what is not watched must train
as it does alone.

Usage: python benchmarks/guard_threads.py [--threads N] [--alarms N]
"""

import argparse
import sys
import threading
import traceback
from collections.abc import Callable

import torch
from torch.utils.data import DataLoader, TensorDataset

import stablelint

PASSES = 3  # every third step goes wrong


class Net(torch.nn.Module):
    """A small network whose buffers change in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.outer = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(torch.nn.functional.dropout(torch.relu(self.norm(self.inner(x))), 0.1))


def steps(number: int, count: int, faulty: bool, model: Net, optimizer: torch.optim.Optimizer) -> None:
    """Train for `count` steps; every third loss is -inf where `faulty`."""
    data = DataLoader(TensorDataset(torch.randn(count * 8, 8)), batch_size=8)
    for step, (x,) in enumerate(data):
        out = model(x + 0.01 * torch.randn_like(x))
        bad = out - out.detach() if faulty and step % PASSES == 0 else out
        optimizer.zero_grad()
        loss = bad.square().sum().log()
        if faulty and step % PASSES == 0:
            loss.backward()
            optimizer.zero_grad()
        else:
            loss.backward()
        optimizer.step()
        print(f"thread {number} step {step}", flush=True)


def trained() -> tuple[Net, torch.optim.Optimizer]:
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=1e-3)


def run(threads: int, alarms: int) -> tuple[list[str], list[stablelint.guard], int]:
    """Errors of the threads, the guards, and the number of lines to be printed."""
    errors: list[str] = []
    guards: list[stablelint.guard] = []
    watched = max(1, threads * 3 // 4)
    own = threads // 4
    count = PASSES * -(-alarms // watched)

    def body(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException:
                errors.append(traceback.format_exc())

        return run

    def with_own_guard(number: int) -> None:
        for _ in range(count // PASSES):
            model, optimizer = trained()
            with guarding(model, optimizer):
                steps(number, PASSES, True, model, optimizer)

    def guarding(*what: object) -> stablelint.guard:
        guard = stablelint.guard(*what, on_event=lambda _: None, max_events=10**6)
        guards.append(guard)
        return guard

    def alone(number: int) -> None:
        model, optimizer = trained()
        steps(number, count, False, model, optimizer)
        assert int(model.norm.num_batches_tracked) == count

    def for_all(number: int) -> None:
        steps(number, count, True, *trained())

    works = []
    for number in range(threads):
        kind = with_own_guard if number < own else for_all if number < watched else alone
        works.append(threading.Thread(target=body(lambda number=number, kind=kind: kind(number))))  # type: ignore[misc]
    with guarding() if watched > own else guarding(*trained()):
        for thread in works:
            thread.start()
        for thread in works:
            thread.join()
    return errors, guards, threads * count


def main() -> int:
    """Returns 0 where all went as it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--alarms", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    errors, guards, lines = run(options.threads, options.alarms)
    events = [event for guard in guards for event in guard.events]
    named = [one for one in events if one.location and one.location.expression == "bad.square().sum().log()"]
    notes = {event.note for event in events if event not in named}
    print(f"{lines} lines, {len(events)} alarms, {len(named)} named, {len(errors)} errors", file=sys.stderr)
    print(*errors[:3], *list(notes)[:3], sep="\n", file=sys.stderr)
    return int(bool(errors) or len(events) < options.alarms or len(named) < len(events))


if __name__ == "__main__":
    sys.exit(main())
