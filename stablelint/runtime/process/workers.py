"""Loaders that have no processes of their own."""

from __future__ import annotations

import inspect
from typing import Any

_OF_WORKERS = ("num_workers", "prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")


def without_workers() -> None:
    """From now on the loaders that are made in this process load in it."""
    from torch.utils.data import DataLoader

    original = DataLoader.__init__
    taken = inspect.signature(original)

    def __init__(*args: Any, **kwargs: Any) -> None:  # noqa: N807
        given = taken.bind(*args, **kwargs)
        for name in _OF_WORKERS:
            given.arguments.pop(name, None)
        original(**given.arguments)

    setattr(DataLoader, "__init__", __init__)  # noqa: B010
