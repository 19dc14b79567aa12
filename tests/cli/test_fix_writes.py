"""What can go wrong while a file is written, each in a process of its own: the original stays whole."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import BAD

APPLY = [sys.executable, "-m", "stablelint", "fix", "--apply", "--no-cache", "--quiet"]
# Runs at the start of the process: the moment at which the new text is on disk, but not yet in its place.
AT_SYNC = (
    "import os\n_sync = os.fsync\ndef fsync(descriptor):\n    _sync(descriptor)\n    {}\nos.fsync = fsync\n"
)


def apply(
    project: Path, hook: str = "", before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    startup = project / ".startup"
    startup.mkdir()
    (startup / "sitecustomize.py").write_text(hook)
    path = os.pathsep.join([str(startup), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        APPLY,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=before,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def leftovers(project: Path) -> list[Path]:
    return list(project.glob(".bad.py.*"))


def message(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = done.stderr.splitlines()
    return line


def test_a_read_only_file(project: Path) -> None:
    (project / "bad.py").chmod(0o444)
    done = apply(project)
    assert done.returncode == 2
    assert "read-only" in message(done)
    assert done.stdout == ""
    assert (project / "bad.py").read_text() == BAD


def test_a_read_only_file_is_not_told_as_nothing_to_fix(project: Path) -> None:
    (project / "bad.py").chmod(0o444)
    (project / "unsafe.py").write_text("import torch\n\n\ndef f(x):\n    return torch.log(torch.relu(x))\n")
    done = apply(project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "read-only" in message(done)


def test_a_file_that_another_program_changes_meanwhile(project: Path) -> None:
    theirs = BAD + "# by another hand\n"
    done = apply(project, AT_SYNC.format(f"open('bad.py', 'w').write({theirs!r})"))
    assert done.returncode == 2
    assert "changed since it was checked" in message(done)
    assert (project / "bad.py").read_text() == theirs
    assert not leftovers(project)


def test_a_disk_without_room(project: Path) -> None:
    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    done = apply(project, "import sys\nsys.dont_write_bytecode = True\n", little_room)
    assert done.returncode == 2
    assert "not written" in message(done)
    assert (project / "bad.py").read_text() == BAD
    assert not leftovers(project)


def test_a_disk_that_fails(project: Path) -> None:
    failing = "import errno\n    raise OSError(errno.ENOSPC, 'No space left on device')"
    done = apply(project, AT_SYNC.format(failing))
    assert done.returncode == 2
    assert "No space left on device" in message(done)
    assert (project / "bad.py").read_text() == BAD
    assert not leftovers(project)


def test_an_interruption_from_the_keyboard(project: Path) -> None:
    done = apply(project, AT_SYNC.format("import signal; os.kill(os.getpid(), signal.SIGINT)"))
    assert done.returncode == 2
    assert message(done)
    assert (project / "bad.py").read_text() == BAD
    assert not leftovers(project)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_an_end_by_force(project: Path, name: str) -> None:
    done = apply(project, AT_SYNC.format(f"import signal; os.kill(os.getpid(), signal.{name})"))
    assert done.returncode != 0
    assert (project / "bad.py").read_text() == BAD
