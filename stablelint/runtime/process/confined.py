"""What a call that is made may not do: write outside of its own folder, start a process, reach a network, take long."""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from types import FrameType

import torch

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = frozenset(
    "os.mkdir os.remove os.rename os.rmdir os.symlink os.link os.truncate os.chmod os.chown os.utime "
    "shutil.rmtree".split()
)
_LEAVING = tuple(
    "subprocess. os.exec os.fork os.kill os.posix_spawn os.spawn os.system pty. socket.bind "
    "socket.connect socket.getaddrinfo socket.send".split()
)
_WAITING = 4.0  # times its share of the processor that a call may wait
_GRACE_SECONDS = 2.0  # after which what heeds no signal is killed
_LOOK_SECONDS = 0.02
_UNTIL = struct.Struct("=d")


class EffectError(PermissionError):
    """A call was about to do more than compute."""


def is_effect(error: BaseException | None) -> bool:
    """Whether an exception is, or was raised because of, what a call may not do."""
    seen = list[BaseException]()
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return any(isinstance(one, EffectError) for one in seen)


def confine(*folders: str) -> None:
    """From now on this process writes into `folders` alone, and starts and reaches no other one.

    Raises EffectError where it would. What native code writes by itself is not seen.
    """
    allowed = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
    sys.dont_write_bytecode = True
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    tempfile.tempdir = folders[0]
    setattr(torch, "save", _saving(torch.save, allowed))  # noqa: B010 - it opens files natively

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(_LEAVING):
            raise EffectError(f"it calls `{event}`")
        given = [path for path in arguments[:2] if isinstance(path, str | bytes | os.PathLike)]
        paths: list[str] = []
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            paths = [os.path.realpath(os.fsdecode(path)) for path in given[:1]]
        elif event in _CHANGING:
            paths = [_entry(path) for path in given[event == "os.symlink" :]]  # a link may point anywhere
        for path in paths:
            if path != os.devnull and not path.startswith(allowed):
                raise EffectError(f"it writes {os.path.basename(path)}")

    sys.addaudithook(audit)


def _entry(path: str | bytes | os.PathLike[str]) -> str:
    """The resolved name of an entry of a folder, which may be a link."""
    folder, name = os.path.split(os.fsdecode(path))
    return os.path.join(os.path.realpath(folder), name)


def _saving(save: Callable[..., None], allowed: tuple[str, ...]) -> Callable[..., None]:
    @functools.wraps(save)
    def saved(value: object, file: object, *more: object, **named: object) -> None:
        if isinstance(file, str | os.PathLike) and not os.path.realpath(file).startswith(allowed):
            raise EffectError("it calls `torch.save`")
        save(value, file, *more, **named)

    return saved


class Clock:
    """Until when a call may last and what it is, as a child tells its parent: native code heeds no signal."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)

    def start(self, until: float, line: str) -> None:
        """A call begins; one until 0 is the end of it."""
        room = mmap.PAGESIZE - _UNTIL.size
        self._shared[:] = _UNTIL.pack(until) + line.encode()[:room].ljust(room)

    def under_way(self) -> tuple[float, str]:
        """Until when the call that is under way may last, and what it is; 0 where there is none."""
        return _UNTIL.unpack_from(self._shared)[0], self._shared[_UNTIL.size :].decode(
            errors="replace"
        ).strip()


CLOCK = Clock()


def in_child(work: Callable[[], None], until: float) -> str | None:
    """Do `work` in a forked child, which is killed at the time `until`, or with a call that does not end.

    Returns that call, or one that crashed it.
    """
    CLOCK.start(0.0, "")
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    while time.perf_counter() < until + _GRACE_SECONDS:
        ended, status = os.waitpid(child, os.WNOHANG)
        limit, line = CLOCK.under_way()
        if ended:
            crashed = os.WIFSIGNALED(status) and os.WTERMSIG(status) not in (signal.SIGKILL, signal.SIGXCPU)
            return line if limit and crashed else None
        if limit and time.perf_counter() > limit + _GRACE_SECONDS:
            break
        time.sleep(_LOOK_SECONDS)
    else:
        line = None
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return line


@contextlib.contextmanager
def limited(seconds: float, line: str = "") -> Iterator[None]:
    """Raises TimeoutError in the block when the time is over, where the system has timers.

    It is the process's own time, for a machine may be busy; a call that waits gets a multiple of it. `line` is what the
    parent is told of it.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it takes longer than {seconds:g} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, _WAITING * seconds),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    CLOCK.start(time.perf_counter() + _WAITING * seconds, line)
    try:
        for timer, limit in timers.values():
            signal.setitimer(timer, limit)
        yield
    finally:
        CLOCK.start(0.0, "")
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
