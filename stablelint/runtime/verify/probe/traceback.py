"""Tracebacks of a watched program as they would be without probes: frames of this package are left out."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from stablelint.runtime.verify.probe.plan import PROGRAM


def hide_own_frames() -> None:
    """From now on what ends a process, or a thread, is told without frames of this package."""
    shown, shown_of_threads = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        shown(kind, _without_own(error), error.__traceback__)

    def hook_of_threads(failed: Any) -> None:
        error = _without_own(failed.exc_value) if failed.exc_value is not None else None
        trace = error.__traceback__ if error is not None else None
        shown_of_threads(threading.ExceptHookArgs((failed.exc_type, error, trace, failed.thread)))

    sys.excepthook, threading.excepthook = hook, hook_of_threads


def _without_own(error: BaseException) -> BaseException:
    """The exception, and those that it came of, with the frames of the program alone."""
    chain: list[BaseException] = [error]
    for each in chain:
        each.__traceback__ = _bare(each.__traceback__)
        chain += [one for one in (each.__cause__, each.__context__) if one is not None and one not in chain]
    return error


def _bare(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    rest = _bare(trace.tb_next)
    if trace.tb_frame.f_code.co_filename.startswith(PROGRAM):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
