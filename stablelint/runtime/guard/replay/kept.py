"""What a step writes into the program's own objects: taken back after a replay.

State that many share (the one dictionary of all instances of a class, a counter in a module, the progress of a trainer)
is found like any other, by what the names of the step lead to.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from types import (
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.guard.replay.writes import storage_key
from stablelint.runtime.program.frames import is_of_program
from stablelint.runtime.program.threads import others_run_the_program

_MOST_BYTES = 1 << 28  # of an array that is worth a copy
_ABSENT = object()
_State = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Way:
    """How the state of an object is read, as parts that are compared by identity, and how it is put back."""

    read: Callable[[Any], _State]
    write: Callable[[Any, _State], None]
    reliable: bool = True  # the parts differ only where something was written


@contextmanager
def contents_kept(reached: Iterable[tuple[str, Any]]) -> Iterator[list[str]]:
    """Contents and attributes of the objects in `reached` (see `within_reach`) are afterwards as they were.

    Beside threads that may have written as well, nothing is taken back; the list that is given holds in the end the
    names of what has changed.
    """
    alone = not others_run_the_program()
    ways: Callable[[Any], list[_Way]] = cache(_ways_of)
    kept = [
        (name, one, way, way.read(one))
        for name, one in reached
        for way in ways(type(one))
        if alone or way.reliable
    ]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, one, way, before in kept:
            now = way.read(one)
            if alone and not _same(now, before):
                way.write(one, before)
            elif not _same(now, before):
                changed.extend([name] if name else _rebound(now, before))


def _same(one: _State, other: _State) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _rebound(now: _State, before: _State) -> list[str]:
    """The names of a module that stand for other objects."""
    old = dict(zip(before[::2], before[1::2], strict=True))
    return [
        name for name, value in zip(now[::2], now[1::2], strict=True) if old.get(name, value) is not value
    ]


def _ways_of(kind: type) -> list[_Way]:
    """How objects of a class are kept: what they hold, and what they have slots for."""
    ways = [way for base, way in (*_WAYS.items(), *_of_numpy()) if issubclass(kind, base)][:1]
    slots = [
        slot
        for base in kind.__mro__
        if "__slots__" in vars(base)
        for slot in vars(base).values()
        if type(slot) is MemberDescriptorType
    ]
    return [*ways, _Way(partial(_read_slots, slots), partial(_write_slots, slots))] if slots else ways


def _read_names(base: Any, one: Any) -> _State:
    return tuple(chain.from_iterable(list(base.items(one))))


def _write_names(base: Any, one: Any, before: _State) -> None:
    if not _same(tuple(base.keys(one)), before[::2]):
        base.clear(one)
    for name, value in zip(before[::2], before[1::2], strict=True):
        base.__setitem__(one, name, value)


def _write_class(one: type, before: _State) -> None:
    old = dict(zip(before[::2], before[1::2], strict=True))
    for name, value in list(vars(one).items()):
        if name not in old:
            type.__delattr__(one, name)
        elif value is not old[name]:
            type.__setattr__(one, name, old[name])


def _refill(base: Any, add: Any, one: Any, before: _State) -> None:
    base.clear(one)
    add(one, before)


def _read_slots(slots: Sequence[Any], one: Any) -> _State:
    return [getattr(one, slot.__name__, _ABSENT) for slot in slots]


def _write_slots(slots: Sequence[Any], one: Any, before: _State) -> None:
    for slot, value in zip(slots, before, strict=True):
        if value is not _ABSENT:
            slot.__set__(one, value)
        elif getattr(one, slot.__name__, _ABSENT) is not _ABSENT:
            slot.__delete__(one)


def _read_tensor(one: torch.Tensor) -> _State:
    """Its gradient and whether it takes one, and its memory, which may be another's afterwards."""
    own = (one.requires_grad, one.grad) if one.is_leaf and not one.is_inference() else (None, None)
    return (*own, one.detach() if storage_key(one) else None)


def _write_tensor(one: torch.Tensor, before: _State) -> None:
    requires_grad, gradient, memory = before
    if memory is not None and storage_key(one) != storage_key(memory):
        one.data = memory
    if requires_grad is not None:
        one.requires_grad_(requires_grad)
        one.grad = gradient


def _of_numpy() -> Iterator[tuple[type, _Way]]:
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy.random" in sys.modules:
        yield (
            numpy.ndarray,
            _Way(_read_array, lambda one, before: one.__setitem__(..., before[0]), reliable=False),
        )
        yield (
            numpy.random.Generator,
            _Way(
                lambda one: (one.bit_generator.state,),
                lambda one, before: setattr(one.bit_generator, "state", before[0]),
                reliable=False,
            ),
        )
        yield numpy.random.RandomState, _of_state("get_state", "set_state")


def _read_array(one: Any) -> _State:
    return (one.copy(),) if one.flags.writeable and one.nbytes <= _MOST_BYTES else ()


def _of_state(get: str, put: str) -> _Way:
    return _Way(
        lambda one: (getattr(one, get)(),), lambda one, before: getattr(one, put)(before[0]), reliable=False
    )


_WAYS: dict[type, _Way] = {
    type: _Way(lambda one: tuple(chain.from_iterable(dict(vars(one)).items())), _write_class),
    OrderedDict: _Way(partial(_read_names, OrderedDict), partial(_write_names, OrderedDict)),
    dict: _Way(partial(_read_names, dict), partial(_write_names, dict)),
    list: _Way(list, lambda one, before: list.__setitem__(one, slice(None), before)),
    deque: _Way(list, partial(_refill, deque, deque.extend)),
    set: _Way(list, partial(_refill, set, set.update)),
    torch.Tensor: _Way(_read_tensor, _write_tensor, reliable=False),
    torch.Generator: _of_state("get_state", "set_state"),
    random.Random: _of_state("getstate", "setstate"),
}


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
        return is_of_program(getattr(value, "__file__", None) or "<frozen" * (value.__name__ != "__main__"))
    if issubclass(kind, FunctionType):
        return is_of_program(value.__code__.co_filename)
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
