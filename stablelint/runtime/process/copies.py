"""Work in a forked copy of the process, of which nothing reaches this one but what it says."""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import torch

_WAITING = 4.0  # times its share of the processor that a copy may wait


class Budget:
    """Seconds of the processor for several copies, which may wait for them some times as long."""

    def __init__(self, seconds: float) -> None:
        self._end = _taken() + seconds
        self._until = time.monotonic() + _WAITING * seconds

    @property
    def left(self) -> float:
        """The seconds that are left; 0 where there are none, or no time to wait for them."""
        return max(0.0, min(self._end - _taken(), (self._until - time.monotonic()) / _WAITING))


def _taken() -> float:
    """The seconds of the processor that the children of this process have taken."""
    times = os.times()
    return times.children_user + times.children_system


def can_copy() -> bool:
    """Whether this process can be forked: not one that uses CUDA."""
    return hasattr(os, "fork") and not torch.cuda.is_initialized()


def said_by_copy(work: Callable[[], bytes], seconds: float) -> bytes:
    """What `work` returns in a copy of the process that prints nothing; empty where it dies, or takes more `seconds` of the
    processor."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        with suppress(BaseException):
            os.close(reader)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            _limit(seconds)
            _discard_output()
            said = memoryview(work())
            while said:
                said = said[os.write(writer, said) :]
        os._exit(0)
    os.close(writer)
    return _read(reader, process, time.monotonic() + _WAITING * seconds)


def _limit(seconds: float) -> None:
    import resource  # not everywhere is it, and nor is fork

    most = max(1, math.ceil(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))


def _read(reader: int, process: int, until: float) -> bytes:
    data = b""
    try:
        while (left := until - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
            part = os.read(reader, 1 << 16)
            if not part:
                return data
            data += part
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return b""


def _discard_output() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open till the copy ends
