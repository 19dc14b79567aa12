"""A replay gives the step its own data: what a loop takes from an iterator, and counters that a closure keeps."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard  # noqa: E402
from tests.forks import Servers  # noqa: E402
from tests.runtime.guard.support import report_of  # noqa: E402

torch.set_num_threads(1)

HEAD = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def rows():
    for index in range(8):
        yield torch.ones(4, 3) * (index != 3)
def step(x):
    optimizer.zero_grad()
    loss = (model(x) - model.bias).norm(dim=-1).log().mean()
    loss.backward()
    optimizer.step()
    return loss
"""
TAKEN = """
stream = rows()
while True:
    x = next(stream)
    step(x)
"""
GENERATOR = """
def losses():
    for x in rows():
        optimizer.zero_grad()
        loss = (model(x) - model.bias).norm(dim=-1).log().mean()
        loss.backward()
        optimizer.step()
        yield loss.item()
taken = list(losses())
"""
WRITTEN = """
import random
from collections import Counter, OrderedDict
import numpy
import counters
class Shared:
    _state = {}
    def __init__(self):
        self.__dict__ = self._state
class Slotted:
    __slots__ = ("count",)
class Made:
    count = 0
    def __init__(self):
        Made.count += 1
class Trainer:
    def __init__(self):
        self.progress = Shared()
        self.progress.count = 0
        self.meter = Slotted()
        self.meter.count = 0
        self.total = torch.zeros(())
        self.logs = {"steps": [OrderedDict()], "kinds": Counter()}
        self.draws = [random.Random(0), numpy.random.default_rng(0), torch.Generator().manual_seed(0)]
        self.rows = numpy.zeros(2)
        self.frozen = torch.nn.Linear(1, 1)
    def train(self):
        global at
        for x in rows():
            at += 1
            counters.at += 1
            Made()
            Shared().count += 1
            self.meter.count += 1
            self.total += 1
            self.rows += 1
            self.logs["kinds"]["step"] += 1
            self.logs["steps"][0][self.logs["kinds"]["step"]] = None
            seen.append((self.draws[0].random(), self.draws[1].random(), torch.rand((), generator=self.draws[2]).item()))
            self.frozen.eval().requires_grad_(False)
            optimizer.zero_grad()
            loss = (model(x) - model.bias).norm(dim=-1).log().mean()
            loss.backward()
            optimizer.step()
            states.append((self.frozen.training, self.frozen.weight.requires_grad))
            self.frozen.train().requires_grad_(True)
at, seen, states, trainer = 0, [], [], Trainer()
trainer.train()
assert at == counters.at == Made.count == trainer.progress.count == trainer.meter.count == 8
assert trainer.total == 8 and (trainer.rows == 8).all()
assert trainer.logs["kinds"]["step"] == len(trainer.logs["steps"][0]) == 8
assert states == [(False, False)] * 8
again = [random.Random(0), numpy.random.default_rng(0), torch.Generator().manual_seed(0)]
assert seen == [(again[0].random(), again[1].random(), torch.rand((), generator=again[2]).item()) for _ in range(8)]
"""
BESIDE = """
import threading
done, seen, shared = threading.Event(), [], []
def other():
    shared.append(-1)
    done.wait()
threading.Thread(target=other).start()
for x in rows():
    seen.append(len(seen))
    shared.append(len(seen))
    optimizer.zero_grad()
    loss = (model(x) - model.bias).norm(dim=-1).log().mean()
    loss.backward()
    optimizer.step()
done.set()
print(len(seen), len(shared))
"""
GUARDED = """
import runpy, sys
from stablelint.runtime.guard import Guard
with Guard(on_event=lambda _: None) as guard:
    runpy.run_path(sys.argv[1], run_name="__main__")
print(guard.events[0].step)
"""
COUNTED = """
calls = 0
def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = (model(torch.ones(1, 3) * (calls != 4)) - model.bias).norm(dim=-1).log().mean()
    loss.backward()
    return loss
for _ in range(6):
    optimizer.step(closure)
"""
LOADER = """
loader = iter(torch.utils.data.DataLoader(list(rows()), batch_size=1))
while True:
    x = next(loader)
    x = x.squeeze(0)
    step(x)
"""


@pytest.mark.parametrize(
    "loop", [TAKEN, GENERATOR, COUNTED, LOADER], ids=["next", "yield", "counter", "loader"]
)
def test_the_step_is_replayed_with_what_it_had(loop: str, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + loop)
    report = report_of(program)
    assert report.event.location is not None
    assert report.event.location.expression.endswith(".norm(dim=-1).log()")
    assert report.event.step == 3


def test_a_generator_under_way_is_not_advanced(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + "stream = rows()\nwhile True:\n    loss = step(next(stream) * 1)\n")
    seen: list[Event] = []
    with Guard(on_event=seen.append) as guard, pytest.raises(StopIteration):
        exec(compile(program.read_text(), str(program), "exec"), {"__name__": "__main__"})
    assert seen[0].step == 3
    assert guard.watch.step == 8


def test_what_a_step_writes_into_the_programs_objects_is_taken_back(tmp_path: Path, servers: Servers) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + WRITTEN)
    (tmp_path / "counters.py").write_text("at = 0\n")
    # In a process of its own: beside a thread that another test has left, nothing is taken back.
    (tmp_path / "guarded.py").write_text(GUARDED)
    assert servers.printed(tmp_path / "guarded.py", str(program)) == "3\n"


def test_beside_other_threads_what_was_written_is_left_and_named(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + BESIDE)
    names: dict[str, Any] = {"__name__": "__main__"}
    with Guard(on_event=lambda _: None) as guard:
        exec(compile(program.read_text(), str(program), "exec"), names)
    assert set(names["seen"]) == set(range(9))
    assert len(names["shared"]) > 9
    note = guard.events[0].note or ""
    assert "`shared`" in note
    assert "`seen`" in note


def test_what_a_step_writes_in_place_is_as_it_was_and_autograd_takes_it_so() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    average = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    events: list[Event] = []
    with Guard(on_event=events.append):
        for step in range(3):
            with torch.no_grad():
                model[1].weight.clamp_(-0.1, 0.1)
                average.weight.mul_(0.9).add_(model[1].weight)
            loss = (model(torch.rand(4, 3)).pow(2).mean() * (step != 1)).log()
            held = [*model.state_dict().values(), average.weight]
            before = [(one.clone(), one._version) for one in held]
            loss.backward()
            assert [one._version for one in held] == [version for _, version in before]
            assert all(torch.equal(one, copy) for one, (copy, _) in zip(held, before, strict=True))
            optimizer.step()
            optimizer.zero_grad()
            if events:
                break
    assert events[0].step == 1


def test_bad_data_are_told_by_their_place_and_not_by_what_they_lead_to() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    events: list[Event] = []
    with Guard(on_event=events.append):
        for _ in range(1):
            x = torch.rand(8, 3)
            x.numpy()[5, 2] = float("nan")
            model(x).mean().backward()
            optimizer.step()
    (event,) = events
    assert event.element is not None
    assert (event.element.index, event.element.terms) == ((5, 2), (("sample", 5),))
    assert [one.name for one in event.operands if one.nan] == ["x"]


def test_an_operation_under_several_transforms_has_a_place() -> None:
    weight = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    events: list[Event] = []

    def norm(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (weight * x).pow(2).sum().sqrt()

    slope = torch.func.vmap(torch.func.grad(norm), in_dims=(None, 0))
    with Guard(on_event=events.append):
        for _ in range(1):
            slope(weight, torch.ones(4, 3)).sum().backward()
            optimizer.step()
    location = events[0].location
    assert location is not None
    assert location.expression == "(weight * x).pow(2).sum().sqrt()"
