"""What a step writes into the program's own lists, dictionaries and objects: taken back after a replay."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from stablelint.runtime.guard.source.swapped import contents_of
from stablelint.runtime.program.frames import is_library

_MOST = 1 << 16  # items of a container that is worth a copy
_MOST_NAMED = 1 << 14  # values that other threads' functions name, which are followed
_PLAIN = (list, dict, set, deque)


@contextmanager
def contents_kept(frames: Iterable[FrameType]) -> Iterator[list[str]]:
    """Containers and attributes of objects that names in `frames` lead to are afterwards as they were.

    Copies are shallow: what an item holds in turn is not looked at. What functions that run in other threads name as
    well is left as it is, for they may have written it; the list that is given holds in the end the names of those
    containers that have changed.
    """
    changed: list[str] = []
    theirs = _named_by_other_threads() if threading.active_count() > 1 else frozenset()
    kept = [(name, id(one) in theirs, one, one.copy()) for name, one in _containers(frames).values()]
    try:
        yield changed
    finally:
        for name, is_shared, container, before in kept:
            if _same(container, before):
                continue
            if is_shared:
                changed.append(name)
            else:
                container.clear()
                (container.extend if isinstance(container, list | deque) else container.update)(before)


def _containers(frames: Iterable[FrameType]) -> dict[int, tuple[str, Any]]:
    """By identity, with the names that lead to them."""
    found: dict[int, tuple[str, Any]] = {}
    for frame in frames:
        for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
            for one in _with_attributes(value):
                if type(one) in _PLAIN and len(one) <= _MOST:
                    found.setdefault(id(one), (name, one))
    return found


def _with_attributes(value: Any) -> list[Any]:
    """A value, and the attributes of an object of a class, which is no class, function or module itself."""
    is_object = not isinstance(value, type) and not hasattr(value, "__name__")
    own = getattr(value, "__dict__", None) if is_object else None
    return [value, own, *own.values()] if type(own) is dict else [value]


def _named_by_other_threads() -> frozenset[int]:
    """The identities of what the functions that other threads are in, and those that they name, have names for."""
    found: set[int] = set()
    pending: deque[Any] = deque()  # the nearest first
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost if thread != threading.get_ident() else None
        while frame is not None:
            pending += [*frame.f_locals.values(), *_globals_of(frame.f_code, frame.f_globals)]
            frame = frame.f_back
    while pending and len(found) < _MOST_NAMED:
        value = pending.popleft()
        if id(value) in found:
            continue
        found |= {id(one) for one in _with_attributes(value)}
        pending += _functions_in(value)
    return frozenset(found)


def _functions_in(value: Any) -> list[Any]:
    """What a function of the program names, or the methods of an object of it."""
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, FunctionType):
        cells = map(contents_of, value.__closure__ or ())
        mine = not is_library(value.__code__.co_filename)
        return [*_globals_of(value.__code__, value.__globals__), *cells] if mine else []
    return [one for one in vars(type(value)).values() if isinstance(one, FunctionType)]


def _globals_of(code: CodeType, scope: dict[str, Any]) -> list[Any]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    named = [scope[name] for name in code.co_names if name in scope]
    return named + [value for one in inner for value in _globals_of(one, scope)]


def _same(container: Any, before: Any) -> bool:
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        items = zip(container.items(), before.items(), strict=True)
        return all(a is b for pair in items for a, b in zip(*pair, strict=True))
    return all(map(_is, container, before))


def _is(one: object, other: object) -> bool:
    return one is other
