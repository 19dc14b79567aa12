"""The program goes on, whatever goes wrong in watching it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol


class Witness(Protocol):
    """What remembers that something could not be seen."""

    trouble: list[str]


def shielded(method: Callable[..., Any]) -> Callable[..., Any]:
    """An observing method whose errors are noted in `self.trouble` and reach nobody else; it then returns None."""

    @functools.wraps(method)
    def observe(self: Witness, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.trouble.append(f"{method.__name__}: {type(error).__name__}: {error}")
            return None

    return observe
