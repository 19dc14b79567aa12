"""What a step writes into the program's own lists, dictionaries, objects and modules: taken back after a replay."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from stablelint.runtime.program.threads import others_run_the_program

_MOST = 1 << 16  # items of a container that is worth a copy
_ABSENT = object()
_PLAIN = (list, dict, set, deque)


@contextmanager
def contents_kept(frames: Iterable[FrameType]) -> Iterator[list[str]]:
    """Names of the modules of `frames`, containers and attributes that names lead to are afterwards as they were.

    Copies are shallow: what an item holds in turn is not looked at. Beside threads that may have written as
    well, nothing is taken back; the list that is given holds in the end the names of what has changed. What those threads
    name cannot be asked: reading the locals of a frame that runs elsewhere crashes the interpreter.
    """
    changed: list[str] = []
    alone = not others_run_the_program()
    frames = list(frames)
    spaces = [(space, dict(space)) for space in {id(f.f_globals): f.f_globals for f in frames}.values()]
    kept = [(name, one, one.copy()) for name, one in _containers(frames).values()]
    try:
        yield changed
    finally:
        for space, before in spaces:
            rebound = [name for name in before if space.get(name, _ABSENT) is not before[name]]
            if not alone:
                changed.extend(rebound)
                continue
            space.update({name: before[name] for name in rebound})
            for name in space.keys() - before.keys():
                del space[name]
        for name, container, before in kept:
            if _same(container.copy(), before):  # of one that a thread fills, the copy stands still
                continue
            if not alone:
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


def _same(container: Any, before: Any) -> bool:
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        items = zip(container.items(), before.items(), strict=True)
        return all(a is b for pair in items for a, b in zip(*pair, strict=True))
    return all(map(_is, container, before))


def _is(one: object, other: object) -> bool:
    return one is other
