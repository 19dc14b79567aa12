"""What a replay changes in the process, changed for its own thread alone.

Every change is one assignment of a name that is looked up at each use, so that a thread in the midst of a call
never sees half of it; other threads are handed on to what stood there before. One replay at a time: all of them
share torch's generator.

A replay waits for no other thread, and wakes none: the step has done so already. Whatever the program's own code asks of
barriers, events, conditions, semaphores, locks and queues is answered as the step went on. What libraries ask of theirs is
left alone: they may have begun it in the replay.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import logging
import multiprocessing.queues
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import GeneratorType
from typing import Any, Literal

from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.program.frames import is_of_program
from stablelint.runtime.tracing.patches import in_own_thread, replaced

_PATIENCE_SECONDS = 60.0
_replaying = threading.RLock()


class BusyError(RuntimeError):
    """Another thread replays a step and does not come to an end."""


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other thread replays. Raises BusyError where that takes a minute."""
    # The thread that replays may itself wait for this one.
    if not _replaying.acquire(timeout=_PATIENCE_SECONDS):
        raise BusyError("another thread replays a step and waits for this one")
    try:
        yield
    finally:
        _replaying.release()


@contextmanager
def quiet() -> Iterator[None]:
    """Printed text, log records and warnings of the calling thread are not shown."""

    def nothing(*_: object, **__: object) -> None:
        """Shows nothing."""

    with ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stack.enter_context(_silenced(name))
        stack.enter_context(replaced(warnings, "showwarning", in_own_thread(nothing)))
        stack.enter_context(replaced(logging.Logger, "handle", in_own_thread(nothing)))
        yield


class _Stream:
    """A stream that swallows what the thread that replays writes, and hands on what others do."""

    silenced: int | None = None

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._nothing = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nothing if threading.get_ident() == self.silenced else self.stream, name)


_streams: dict[int, _Stream] = {}


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """What the calling thread writes to a stream of `sys` is dropped."""
    # `print` borrows the stream while it writes: one that another thread may still be using must not be freed.
    stream = getattr(sys, name)
    silent = stream if isinstance(stream, _Stream) else _streams.setdefault(id(stream), _Stream(stream))
    before, silent.silenced = silent.silenced, threading.get_ident()
    try:
        with replaced(sys, name, lambda _: silent):
            yield
    finally:
        silent.silenced = before


_TO_CALLER = 2  # frames from a replacement to whoever calls it


class TakenError(RuntimeError):
    """A replay would have taken an item that the program has not seen."""


@contextmanager
def iterators_frozen(last: Mapping[Any, object]) -> Iterator[None]:
    """Until the end of the context a loader gives its `last` batch again, and a generator under way raises TakenError.

    Loaders and generators that are begun meanwhile give what they have.
    """
    begun: set[int] = set()

    def fetch(original: Any, loader: Any) -> Any:
        return last[loader] if loader in last else original(loader)

    def take(original: Any, iterator: Any, *default: Any) -> Any:
        # Whose end is its next item.
        of_a_context = sys._getframe(_TO_CALLER).f_code.co_filename == contextlib.__file__
        if isinstance(iterator, GeneratorType) and id(iterator) not in begun and not of_a_context:
            if inspect.getgeneratorstate(iterator) != inspect.GEN_CREATED:
                raise TakenError(f"it takes the next item of the generator `{iterator.__name__}`")
            begun.add(id(iterator))
        return original(iterator, *default)

    with (
        replaced(_BaseDataLoaderIter, "__next__", in_own_thread(fetch)),
        replaced(builtins, "next", in_own_thread(take)),
    ):
        yield


_QUEUES = (queue.Queue, multiprocessing.queues.Queue)


def _nothing(*_: object, **__: object) -> None:
    """Wakes nobody."""


def _done(*_: object, **__: object) -> Literal[True]:
    """What was waited for has come."""
    return True


_ANSWERS: Mapping[type, Mapping[str, Callable[..., object]]] = {
    # The last of those who wait: what one of them does for all, the first or the second would do.
    threading.Barrier: {"wait": lambda one, *_: one.parties - 1, "reset": _nothing, "abort": _nothing},
    threading.Event: {"wait": _done, "set": _nothing, "clear": _nothing},
    threading.Condition: {
        **dict.fromkeys(("__enter__", "wait", "wait_for"), _done),
        **dict.fromkeys(("__exit__", "notify", "notify_all"), _nothing),
    },
    threading.Semaphore: {
        **dict.fromkeys(("__enter__", "acquire"), _done),
        **dict.fromkeys(("__exit__", "release"), _nothing),
    },
    queue.Queue: dict.fromkeys(("put", "put_nowait", "join", "task_done"), _nothing),
    multiprocessing.queues.Queue: dict.fromkeys(("put", "put_nowait"), _nothing),
}


@contextmanager
def waits_skipped(last: Mapping[Any, object]) -> Iterator[None]:
    """Until the end of the context the calling thread waits for no other; a queue gives its `last` item again."""

    def again(one: Any, *_: object, **__: object) -> object:
        if one not in last:
            raise TakenError("it takes the next item of a queue")
        return last[one]

    answers = [(kind, name, made) for kind, found in _ANSWERS.items() for name, made in found.items()]
    answers += [(kind, name, again) for kind in _QUEUES for name in ("get", "get_nowait")]
    with ExitStack() as stack:
        for kind, name, answer in answers:
            stack.enter_context(replaced(kind, name, in_own_thread(partial(_of_program, answer))))
        yield


def _of_program(
    answer: Callable[..., object], original: Callable[..., object], *args: Any, **kwargs: Any
) -> object:
    caller = sys._getframe(_TO_CALLER).f_code.co_filename
    return (answer if is_of_program(caller) else original)(*args, **kwargs)
