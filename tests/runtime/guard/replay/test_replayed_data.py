"""A replay gives the step its own data: what a loop takes from an iterator, and counters that a closure keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard  # noqa: E402
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
LOGGED = """
seen = []
class Log:
    count = 0
log = Log()
for x in rows():
    seen.append(len(seen))
    log.count += 1
    optimizer.zero_grad()
    loss = (model(x) - model.bias).norm(dim=-1).log().mean()
    loss.backward()
    optimizer.step()
assert (seen, log.count) == (list(range(8)), 8)
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


def test_what_the_program_logs_it_logs_once(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + LOGGED)
    with Guard(on_event=lambda _: None) as guard:
        exec(compile(program.read_text(), str(program), "exec"), {"__name__": "__main__"})
    assert guard.events[0].step == 3


def test_beside_other_threads_what_they_do_not_name_is_taken_back(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(HEAD + BESIDE)
    names: dict[str, Any] = {"__name__": "__main__"}
    with Guard(on_event=lambda _: None) as guard:
        exec(compile(program.read_text(), str(program), "exec"), names)
    assert names["seen"] == list(range(8))
    assert len(names["shared"]) > 9
    note = guard.events[0].note or ""
    assert "`shared`" in note
    assert "`seen`" not in note
