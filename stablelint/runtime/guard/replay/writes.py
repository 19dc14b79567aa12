"""Tensors of the program that a replayed step writes into: taken back afterwards, as if nothing had been written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter

from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tracing.operation import operation_of, storage_of, written_by


class Writes:
    """Copies what the program holds before the replay writes it, and nothing else.

    The versions are put back with the values: what autograd has kept of a graph under way is what it was.
    """

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self._held = {key: one for one in tensors if (key := storage_key(one))}
        self._copies: list[tuple[Any, Any]] = []
        self._versions = ExitStack()

    def before(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """An operation is about to run."""
        for tensor in tensors_in(written_by(operation_of(func), args, kwargs)):
            held = self._held.pop(storage_key(tensor), None)
            if held is not None and not held.is_inference():
                storage = held.untyped_storage()
                self._copies.append((storage, storage.clone()))
                self._versions.enter_context(_unsafe_preserve_version_counter(held))

    def take_back(self) -> None:
        """Put the values back."""
        for storage, copy in self._copies:
            storage.copy_(copy)
        self._copies.clear()
        self._versions.close()


def storage_key(tensor: torch.Tensor) -> int:
    """The address of a tensor's memory; 0 where it has none of its own."""
    storage = storage_of(tensor)
    try:
        return 0 if storage is None else int(storage.data_ptr())
    except RuntimeError:  # a storage without memory
        return 0
