"""Batches in numbers: of now and then one, so that a bad one can be told from the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import torch

from stablelint.runtime.guard.reporting.event import BatchStats

_EVERY = 8
_KEPT = 32
_LARGEST = 1 << 20  # elements of a tensor that is measured in passing
_MOST = 8  # tensors of a batch

Numbers = tuple[float, float, float]
"""Mean, standard deviation, largest magnitude."""


class BatchRecorder:
    """The numbers of every eighth batch of a loader, the last few of them."""

    def __init__(self) -> None:
        self.seen: deque[dict[str, Numbers]] = deque(maxlen=_KEPT)
        self._count = 0

    def look(self, batch: object) -> None:
        """Measure the batch, if it is its turn and nothing has to be waited for."""
        if self._count % _EVERY == 0:
            self.seen.append(numbers_of(batch, waiting=False))
        self._count += 1

    @property
    def before(self) -> list[dict[str, Numbers]]:
        """The numbers of batches before the last one that was looked at."""
        return list(self.seen)[: -1 if self._count % _EVERY == 1 else None]


def parts_of(value: object, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in nested lists, tuples and dictionaries, with the text that leads to each."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from parts_of(item, f"{name}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from parts_of(item, f"{name}[{key!r}]")


def numbers_of(batch: object, waiting: bool = True) -> dict[str, Numbers]:
    """The numbers of a batch's tensors; without `waiting` of those that are small and on the host alone."""
    found = {}
    for name, tensor in list(parts_of(batch))[:_MOST]:
        if tensor.is_meta or not tensor.numel() or tensor.is_complex() or tensor.layout is not torch.strided:
            continue
        if waiting or (tensor.is_cpu and tensor.numel() <= _LARGEST):
            values = tensor.detach().float()
            std, mean = torch.std_mean(values, correction=0)
            found[name] = (mean.item(), std.item(), values.abs().max().item())
    return found


def compared(batch: object, others: Iterable[dict[str, Numbers]]) -> tuple[BatchStats, ...]:
    """The tensors of a batch beside the least and the most of what those of the others had."""
    others = list(others)
    stats = []
    for name, own in numbers_of(batch).items():
        known = [one[name] for one in others if name in one]
        if known:
            ranges = tuple((min(column), max(column)) for column in zip(*known, strict=True))
            stats.append(BatchStats(name, own, len(known), ranges))
    return tuple(stats)
