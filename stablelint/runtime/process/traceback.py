"""Stacks and tracebacks of a watched program as they would be without being watched, without frames of this package."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

OWN = os.path.join(Path(__file__).parents[2], "")
"""The folder of this package."""


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the stack from `frame` outwards."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def before_shown(change: Callable[[BaseException], BaseException | None]) -> None:
    """From now on what ends this process, or a thread, is shown as `change` makes it; nothing where that gives None."""
    shown, shown_of_threads = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if (changed := change(error)) is not None:
            shown(kind, changed, changed.__traceback__)

    def hook_of_threads(failed: Any) -> None:
        changed = change(failed.exc_value) if failed.exc_value is not None else None
        if changed is not None or failed.exc_value is None:
            trace = changed.__traceback__ if changed is not None else None
            shown_of_threads(threading.ExceptHookArgs((failed.exc_type, changed, trace, failed.thread)))

    sys.excepthook, threading.excepthook = hook, hook_of_threads


def hide_own_frames() -> None:
    """From now on what ends a process, a thread or a worker is told without frames of this package."""
    original = traceback.TracebackException.__init__

    def tell(
        self: Any, kind: Any, error: BaseException, trace: TracebackType | None, *rest: Any, **options: Any
    ) -> None:
        original(self, kind, error, _without_own_frames(trace), *rest, **options)

    before_shown(_cleaned)
    setattr(traceback.TracebackException, "__init__", tell)  # noqa: B010


def _cleaned(error: BaseException) -> BaseException:
    """The exception, and those that it came of, with the frames of the program alone."""
    chain: list[BaseException] = [error]
    for each in chain:
        each.__traceback__ = _without_own_frames(each.__traceback__)
        chain += [one for one in (each.__cause__, each.__context__) if one is not None and one not in chain]
    return error


def _without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OWN):
            kept.append(trace)
        trace = trace.tb_next
    bare = None
    for one in reversed(kept):
        bare = TracebackType(bare, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return bare
