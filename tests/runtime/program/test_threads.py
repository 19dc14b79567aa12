"""Which other threads may run code of the program."""

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from stablelint.runtime.program.threads import others_run_the_program

MONITOR = "def run(begun, done, step=None):\n    begun.set()\n    step() if step else done.wait()\n"


@pytest.fixture(autouse=True)
def no_threads_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {*threading.enumerate()} - {threading.current_thread()}
    every = threading.enumerate
    monkeypatch.setattr(threading, "enumerate", lambda: [one for one in every() if one not in before])


@contextmanager
def running(target: Callable[..., Any], *args: Any) -> Iterator[threading.Event]:
    begun, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=target, args=(begun, done, *args))
    thread.start()
    begun.wait()
    try:
        yield done
    finally:
        done.set()
        thread.join()


def of_a_package() -> Callable[..., Any]:
    names: dict[str, Any] = {}
    file = Path(sysconfig.get_path("purelib"), "progress", "monitor.py")
    exec(compile(MONITOR, str(file), "exec"), names)
    run: Callable[..., Any] = names["run"]
    return run


def of_the_program(begun: threading.Event, done: threading.Event) -> None:
    begun.set()
    done.wait()


def test_alone_nothing_else_runs() -> None:
    assert not others_run_the_program()


def test_a_thread_that_a_package_runs_for_itself_does_not() -> None:
    with running(of_a_package()):
        assert not others_run_the_program()


def test_a_thread_of_the_program_does() -> None:
    with running(of_the_program):
        assert others_run_the_program()


def test_a_package_that_calls_the_program_does() -> None:
    called, done = threading.Event(), threading.Event()
    with running(of_a_package(), lambda: of_the_program(called, done)):
        called.wait()
        assert others_run_the_program()
        done.set()


def test_a_worker_that_waits_for_functions_does() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        assert others_run_the_program()


COLLECTING = """
import gc, sys, threading
from stablelint.runtime.program.threads import others_run_the_program

class Knot:
    def __init__(self):
        self.own = self
    def __del__(self):
        sys._current_frames()

done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
gc.set_threshold(1)
for _ in range(300):
    Knot()
    others_run_the_program()
done.set()
"""


def test_a_collection_meanwhile_waits_for_no_lock_of_the_interpreter() -> None:
    subprocess.run([sys.executable, "-c", COLLECTING], check=True, timeout=60)
