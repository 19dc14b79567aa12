"""Iterators that the program goes over are not advanced by a replay: what it takes from them it takes for the program."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import GeneratorType
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.tracing.patches import in_own_thread, replaced

_TO_CALLER = 2  # frames from a replacement to whoever calls it


class TakenError(RuntimeError):
    """A replay would have taken an item that the program has not seen."""


@contextmanager
def standing_still(last: Mapping[Any, object]) -> Iterator[None]:
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
