"""What a replay changes in the process, changed for its own thread alone.

Every change is one assignment of a name that is looked up at each use, so that a thread in the midst of a call
never sees half of it; other threads are handed on to what stood there before. One replay at a time: all of them
share torch's generator.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from stablelint.runtime.tracing.patches import in_own_thread, replaced

_PATIENCE_SECONDS = 60.0
_replaying = threading.RLock()


class BusyError(RuntimeError):
    """Another thread replays a step and does not come to an end."""


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other thread replays. Raises BusyError where that takes a minute."""
    # The thread that replays may itself wait for this one.
    if not _replaying.acquire(timeout=_PATIENCE_SECONDS):
        raise BusyError("another thread replays a step and waits for this one")
    try:
        yield
    finally:
        _replaying.release()


@contextmanager
def quiet() -> Iterator[None]:
    """Printed text, log records and warnings of the calling thread are not shown."""

    def nothing(*_: object, **__: object) -> None:
        """Shows nothing."""

    with ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stack.enter_context(_silenced(name))
        stack.enter_context(replaced(warnings, "showwarning", in_own_thread(nothing)))
        stack.enter_context(replaced(logging.Logger, "handle", in_own_thread(nothing)))
        yield


class _Stream:
    """A stream that swallows what the thread that replays writes, and hands on what others do."""

    silenced: int | None = None

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._nothing = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nothing if threading.get_ident() == self.silenced else self.stream, name)


_streams: dict[int, _Stream] = {}


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """What the calling thread writes to a stream of `sys` is dropped."""
    # `print` borrows the stream while it writes: one that another thread may still be using must not be freed.
    stream = getattr(sys, name)
    silent = stream if isinstance(stream, _Stream) else _streams.setdefault(id(stream), _Stream(stream))
    before, silent.silenced = silent.silenced, threading.get_ident()
    try:
        with replaced(sys, name, lambda _: silent):
            yield
    finally:
        silent.silenced = before
