"""Which other threads can change what the program holds."""

from __future__ import annotations

import gc
import sys
import sysconfig
import threading
from types import FrameType

from stablelint.runtime.process.traceback import frames_from

_INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
_LIBRARIES = (*_INSTALLED, sysconfig.get_path("stdlib"), "<frozen")


def others_run_the_program() -> bool:
    """Whether a thread beside this one may run code of the program.

    One that an installed package runs for itself (the monitor of a progress bar, the writer of a log) does not: its
    first code is the package's, and nothing of the program stands on its stack. Threads of the standard library do,
    for the workers of its pools take any function.
    """
    others = [one for one in threading.enumerate() if one.ident != threading.get_ident()]
    frames = _frames_of_threads() if others else {}
    return any(_may_run_it(frames.get(one.ident or 0)) for one in others)


def _frames_of_threads() -> dict[int, FrameType]:
    # A collection that starts within may wait for a lock that the interpreter holds there.
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if collects:
            gc.enable()


def is_installed(filename: str) -> bool:
    """Whether a file is of an installed package or of the standard library."""
    return filename.startswith(_LIBRARIES)


def _may_run_it(frame: FrameType | None) -> bool:
    files = [one.f_code.co_filename for one in frames_from(frame)]
    files = [name for name in files if name != threading.__file__]
    return not files or not files[-1].startswith(_INSTALLED) or not all(map(is_installed, files))
