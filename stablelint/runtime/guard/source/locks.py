"""Locks of the step count as open while it runs again: it may hold them already."""

from __future__ import annotations

import threading
from types import TracebackType

_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Semaphore)


class _Open:
    """Stands for a lock."""

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lets nobody in."""

    def acquire(self, *_: object, **__: object) -> bool:
        """Nobody is waited for."""
        return True

    def release(self, *_: object) -> None:
        """Lets nobody in."""

    def locked(self) -> bool:
        """It is the step's."""
        return True


def opened(value: object) -> object:
    """What a replay uses in place of a value: a lock that is open, where it is one."""
    return _Open() if isinstance(value, _LOCKS) else value
