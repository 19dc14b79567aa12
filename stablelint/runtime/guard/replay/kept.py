"""What a step writes into the program's own lists, dictionaries and objects: taken back after a replay."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_MOST = 1 << 16  # items of a container that is worth a copy
_PLAIN = (list, dict, set, deque)


@contextmanager
def contents_kept(frames: Iterable[FrameType]) -> Iterator[None]:
    """Containers and attributes of objects that names in `frames` lead to are afterwards as they were.

    Copies are shallow: what an item holds in turn is not looked at. Where other threads run, which may write as well,
    nothing is taken back.
    """
    if threading.active_count() > 1:
        yield
        return
    found: dict[int, Any] = {}
    for frame in frames:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            found[id(value)] = value
    undo: list[Callable[[], None]] = []
    for value in found.values():
        own = getattr(value, "__dict__", None) if _is_of_program(value) else None
        for one in [value, *([own, *own.values()] if type(own) is dict else [])]:
            if type(one) in _PLAIN and len(one) <= _MOST:
                undo.append(_taking_back(one))
    try:
        yield
    finally:
        for back in undo:
            back()


def _is_of_program(value: object) -> bool:
    """Whether a value is an object of a class, and not a class, a function or a module itself."""
    return not isinstance(value, type) and not hasattr(value, "__name__")


def _taking_back(container: Any) -> Callable[[], None]:
    before = container.copy()

    def back() -> None:
        if len(container) == len(before) and all(map(_same, _items(container), _items(before))):
            return
        container.clear()
        (container.extend if isinstance(container, list | deque) else container.update)(before)

    return back


def _items(container: Any) -> Iterable[Any]:
    return container.items() if isinstance(container, dict) else container


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):  # an item of a dictionary
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other
