"""Alarms among threads: nobody dies, nothing is lost, and what is not watched is left alone."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard import Event, Guard  # noqa: E402
from stablelint.runtime.program.frames import compile_calmly  # noqa: E402
from stablelint.runtime.program.swapped import functions_of, functions_swapped  # noqa: E402

STRESS = Path(__file__).parents[3] / "benchmarks" / "guard_threads.py"


@pytest.mark.parametrize("threads", [2, 6])
def test_threads_survive_each_others_alarms(threads: int) -> None:
    words = [sys.executable, "-X", "faulthandler", str(STRESS), "--threads", str(threads), "--alarms", "6"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines, alarms, named, errors = (int(part.split()[0]) for part in done.stderr.splitlines()[0].split(", "))
    assert len(done.stdout.splitlines()) == lines
    assert (alarms, errors) == (named, 0)
    assert "Warning" not in done.stderr


def test_a_guard_does_not_look_at_what_another_thread_trains() -> None:
    model, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train() -> None:
        own = torch.optim.SGD(other.parameters(), lr=0.1)
        (other(torch.ones(1, 3)).sum() * torch.nan).backward()
        own.step()

    with Guard(model, optimizer) as guard:
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert guard.events == []


def test_a_given_optimizer_is_watched_in_the_thread_that_steps_it() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen: list[Event] = []

    def train() -> None:
        for step in range(3):
            loss = (model(torch.ones(1, 3)) * (torch.inf if step == 2 else 1.0)).sum().tanh()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with Guard(model, optimizer, on_event=seen.append):
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert [event.step for event in seen] == [2]


def test_one_guard_stands_aside_while_another_replays() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen: list[Event] = []
    with Guard(on_event=seen.append), Guard(model, optimizer, on_event=seen.append):
        for step in range(3):
            out = model(torch.ones(1, 3))
            loss = ((out - out.detach()) if step == 1 else out).square().sum().log()
            optimizer.zero_grad()
            if step != 1:
                loss.backward()
            else:
                loss.backward()
                optimizer.zero_grad()
            optimizer.step()
    assert [event.step for event in seen] == [1, 1]
    assert all(event.exact or event.location for event in seen)


SOURCE = """
def outer(scale):
    class Layer:
        def double(self, x, *, shift=0):
            return scale * x + shift
    return Layer
def once(x):
    return x
"""


def test_fixed_functions_run_in_their_own_thread_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "layer.py")
    scope: dict[str, object] = {"__name__": "layer"}
    exec(compile_calmly(SOURCE, path), scope)
    layer = scope["outer"](2)()  # type: ignore[operator]
    fixed = compile_calmly(SOURCE.replace("+ shift", "- shift").replace("return x", "return -x"), path)
    told: list[float] = []

    def ask() -> None:
        told.extend([layer.double(3, shift=1), scope["once"](3)])  # type: ignore[operator]

    with functions_swapped(functions_of(path, [scope, {"layer": layer}]), fixed):
        ask()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    ask()
    assert told == [5, -3, 7, 3, 7, 3]
