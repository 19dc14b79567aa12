"""Names of other modules that stand for something else for a while.

Every change is one assignment of a name that is looked up at each use, so that a thread in the midst of a call
never sees half of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from stablelint.runtime.process.traceback import OWN


def replace(holder: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Let a name stand for `make` of what it was; what is returned puts it back, unless somebody else has replaced it."""
    own = vars(holder).get(name)  # None for a method that the class has from another one
    original = getattr(holder, name) if own is None else own
    replacement = make(original)
    setattr(holder, name, replacement)

    def undo() -> None:
        # Whoever has wrapped it since keeps calling the replacement.
        if vars(holder).get(name) is not replacement:
            return
        if own is None:
            delattr(holder, name)
        else:
            setattr(holder, name, own)

    return undo


@contextmanager
def replaced(holder: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Until the end of the context a name stands for `make` of what it was."""
    undo = replace(holder, name, make)
    try:
        yield
    finally:
        undo()


def observing(observer: Callable[..., object]) -> Callable[[Any], Any]:
    """Show every call to `observer`: its result first, then its arguments."""

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                observer(result, *args, **kwargs)
            return result

        call.observed = original  # type: ignore[attr-defined]
        call.__code__ = call.__code__.replace(co_filename=_PASSED_OVER)
        return call

    return wrap


# A warning that asks for its caller's place passes over frames of files that are named so.
_PASSED_OVER = f"{OWN}importlib._bootstrap"


def in_own_thread(own: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Makes of a callable one that is `own`, with that callable ahead of the arguments, in the calling thread."""
    thread = threading.get_ident()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == thread:
                return own(original, *args, **kwargs)
            return original(*args, **kwargs)

        return call

    return make
