"""Calls that give something new each time, watched in the command: what they gave, and where they were written.

Loads nothing but the standard library; installed before the command's own code, so that `from random import
random` finds what is watched.
"""

from __future__ import annotations

import functools
import os
import random
import stat
import sys
import time
import uuid
import zlib
from collections.abc import Callable
from time import time_ns
from types import CodeType
from typing import Any

from stablelint.runtime.compare.recording import remedies
from stablelint.runtime.process.start import Plan
from stablelint.runtime.process.traceback import frames_from

_PYTHON = (".py", ".pyc")
_KEPT = 2000  # calls noted in a process
_DRAWS = "random randint randrange choice choices shuffle sample uniform gauss normalvariate betavariate seed"
_NUMPY = "rand randn randint random random_sample normal uniform permutation shuffle choice standard_normal default_rng"
_WATCHED: tuple[tuple[str, Any, str], ...] = (
    ("time", time, "time time_ns perf_counter perf_counter_ns monotonic"),
    ("uuid", uuid, "uuid1 uuid4"),
    ("os", os, "urandom listdir scandir getpid"),
    ("random", random, _DRAWS),
)

LEFT_OVER = "left over"
"""The source of what is read from a file that an earlier run of the comparison wrote."""

Note = Callable[[str, CodeType, int, int], None]
_notes: list[tuple[str, CodeType, int, int]] = []
_sink: Note | None = None
_left = _KEPT


def install(plan: Plan) -> None:
    """Watch the sources of the standard library, under the remedies of the plan."""
    remedies.apply(plan.options["remedies"], early=True)
    for name, module, functions in _WATCHED:
        _watch(name, module, functions)
    began, own = plan.options["began"], time_ns()

    def on_event(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and _left and isinstance(args[0], str) and not args[0].endswith(_PYTHON):
            written = _modified(args[0])
            if began <= written < own and not (args[2] or 0) & (os.O_WRONLY | os.O_RDWR):
                _note_reading(written)

    sys.addaudithook(on_event)


def hand_over(sink: Note) -> None:
    """From now on tell `sink` of every call: a name, the instruction, a digest of what was returned."""
    global _sink
    _sink = sink
    for note in _notes:
        sink(*note)
    _notes.clear()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        _watch("numpy.random", numpy.random, _NUMPY)


def _watch(name: str, module: Any, functions: str) -> None:
    for function in functions.split():
        original = getattr(module, function, None)
        if original is not None:
            setattr(module, function, _watched(f"{name}.{function}", original))


def _watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        value = original(*args, **kwargs)
        frame = sys._getframe(1)
        if _left and not remedies.in_library(frame):
            _note(name, frame.f_code, frame.f_lasti, _digest(name, value, args))
        return value

    return call


def _modified(path: str) -> int:
    """When a file was last written, in ns; 0 for what is no file: a folder is opened to be listed or deleted."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0


def _note_reading(written: int) -> None:
    """A file is read that was written since the first run began, and before this one did."""
    for frame in frames_from(sys._getframe(2)):
        if not remedies.in_library(frame):
            return _note(LEFT_OVER, frame.f_code, frame.f_lasti, written)


def _note(name: str, code: CodeType, offset: int, value: int) -> None:
    global _left
    _left -= 1
    if _sink is None:
        _notes.append((name, code, offset, value))
    else:
        _sink(name, code, offset, value)


def _digest(name: str, value: Any, args: tuple[Any, ...]) -> int:
    if name.endswith("scandir"):
        return 0  # an iterator, which a look would use up
    if value is None:  # `shuffle` and its like write what they were given
        value = args[0] if args else None
    state = getattr(getattr(value, "bit_generator", None), "state", None)
    return zlib.crc32(repr(value if state is None else state).encode("utf-8", "replace"))
