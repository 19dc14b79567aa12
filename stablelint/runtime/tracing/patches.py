"""Names of other modules that stand for something else for a while.

Every change is one assignment of a name that is looked up at each use, so that a thread in the midst of a call
never sees half of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(holder: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """An attribute is `make` of what it was; what somebody else has put there meanwhile stays."""
    original = getattr(holder, name)
    replacement = make(original)
    setattr(holder, name, replacement)
    try:
        yield
    finally:
        if holder.__dict__.get(name) is replacement:
            setattr(holder, name, original)


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
