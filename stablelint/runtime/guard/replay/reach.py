"""What a step can write to: everything that the names of its frames lead to."""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.program.frames import is_library
from stablelint.runtime.program.threads import is_installed

_MOST = 1 << 15  # objects, of which a training script has a third beside transformers
_MOST_ITEMS = 1 << 16  # of a container that is worth a look
_MADE_BY_CODE = 1 << 9  # the interpreter's flag of such classes
# What these define is the guard's own, or a wait that goes on elsewhere.
_CLOSED_PACKAGES = frozenset((__name__.partition(".")[0], "asyncio", "_asyncio"))
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)
_PLAIN = (str, bytes, int, float, complex, bool, type(None), range, slice)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition)
# What goes on or is read elsewhere: its part in this process cannot be put back alone.
_CLOSED = (
    *_PLAIN,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
    _BaseDataLoaderIter,
    threading.Thread,
    threading.Event,
    *_LOCKS,
)


def within_reach(frames: Iterable[FrameType]) -> Iterator[tuple[str, Any]]:
    """Every object that a name in `frames` leads to, once, with one such name; the nearest objects first.

    Items, attributes, closures and the classes of objects are followed; modules and functions only where they are
    the program's own. The names of a module come as one dictionary without a name. While other threads are alive, what
    holds a lock is theirs as well, such as the queue that a package's writer of logs waits at: it is left out.
    """
    queue: deque[tuple[str, Any]] = deque()
    for frame in frames:
        queue.extend([*frame.f_locals.items(), *frame.f_globals.items(), ("", frame.f_globals)])
    seen: dict[int, Any] = {}
    alone = threading.active_count() == 1
    while queue and len(seen) < _MOST:
        name, value = queue.popleft()
        kind = type(value)
        if id(value) in seen or not _is_open(value, kind) or not (alone or _is_lockless(value, kind)):
            continue
        seen[id(value)] = value  # kept, so that no other object has its place
        yield name, value
        queue.extend((name, one) for one in _parts(value, kind))


def _is_open(value: Any, kind: type) -> bool:
    if issubclass(kind, _CLOSED) or str(kind.__module__).partition(".")[0] in _CLOSED_PACKAGES:
        return False
    if issubclass(kind, ModuleType):
        return _is_of_program(getattr(value, "__file__", None) or "<frozen" * (value.__name__ != "__main__"))
    if issubclass(kind, FunctionType):
        return _is_of_program(value.__code__.co_filename)
    if issubclass(kind, type):
        return bool(value.__flags__ & _MADE_BY_CODE)
    return not issubclass(kind, _CONTAINERS) or len(value) <= _MOST_ITEMS


def _is_lockless(value: Any, kind: type) -> bool:
    return not any(isinstance(one, _LOCKS) for names in _attributes(value, kind) for one in names.values())


def _parts(value: Any, kind: type) -> Iterable[Any]:
    if issubclass(kind, type):
        return tuple(vars(value).values())
    return (*_attributes(value, kind), kind, *gc.get_referents(value))


def _attributes(value: Any, kind: type) -> list[dict[str, Any]]:
    try:
        return [object.__getattribute__(value, "__dict__")] if kind.__dictoffset__ else []
    except Exception:  # types of C may show none, and a property of the program raise what it likes
        return []


def _is_of_program(filename: str) -> bool:
    return not is_library(filename) and not is_installed(filename)
