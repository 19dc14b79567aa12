"""What holds for every test."""

import compileall
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import stablelint
from tests.forks import Servers

# A shell that starts a job in the background makes it deaf to Ctrl-C, and with it all that the job starts; the
# tests that interrupt a command need one that hears.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers and their commands take a core each: threads beside them would wait, and burn what they wait for.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes is no law: a busy machine would fail it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# Where Python is told to store nothing, each process would compile what it imports anew; the tests themselves, whose
# assertions are rewritten before, take longest.
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Compiles the package once, for the processes that tests start."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(stablelint.__file__).parent, quiet=2)
    gc.disable()


def pytest_collection_finish() -> None:
    """Has the collector look at what tests make, and not at the thousands of tests and the modules that they have."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Processes that run programs in forks."""
    found = Servers()
    yield found
    found.close()


@pytest.fixture
def forked(servers: Servers) -> Iterator[None]:
    """The commands of `run`, `compare` and `verify`, and the calls that this makes, run in forks of a process with torch."""
    with servers.running_commands():
        yield
