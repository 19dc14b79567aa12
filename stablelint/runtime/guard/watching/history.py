"""The last steps of a run, in bounded memory."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from stablelint.runtime.guard.reporting.event import Growth, StepRecord

_GROWTH_FACTOR = 10.0  # over the remembered steps, for a run to count as exploding
_GROWTH_STEPS = 3


# Step, loss, norm over all gradients, norms by layer; made at every step, and nothing is made quicker than a tuple.
_Entry = tuple[int, float | None, float | None, tuple[float, ...]]


class History:
    """Loss and gradient norms of the last `length` steps."""

    def __init__(self, length: int = 64) -> None:
        self._entries: deque[_Entry] = deque(maxlen=length)

    def add(self, step: int, loss: float | None, norm: float | None, layers: tuple[float, ...] = ()) -> None:
        """Remember a step."""
        self._entries.append((step, loss, norm, layers))

    def last(self) -> tuple[float | None, float | None]:
        """Loss and gradient norm of the last remembered step."""
        return self._entries[-1][1:3] if self._entries else (None, None)

    def records(self) -> tuple[StepRecord, ...]:
        """The remembered steps, oldest first; of a step that was added twice, what was added last."""
        return tuple(StepRecord(*entry) for entry in {entry[0]: entry for entry in self._entries}.values())

    def growth(self, learning_rates: tuple[float, ...]) -> Growth:
        """What the remembered norms tell of a run that exploded."""
        norms = [norm for _, _, norm, _ in self._entries if norm is not None and math.isfinite(norm)]
        return Growth(
            learning_rates, statistics.median(norms) if norms else None, norms[-1] if norms else None
        )

    def learned_limit(self) -> float | None:
        """The norm beyond which a step is unlike those before: many times their median, and after a steady rise."""
        norms = [norm for _, _, norm, _ in self._entries if norm is not None]
        if not _grows(norms):
            return None
        return _GROWTH_FACTOR * statistics.median(norms[:-1])

    def way(self, least: float) -> float:
        """How far the remembered steps may have gone at a learning rate of 1: `least`, and the norm of each."""
        norms = (norm for _, _, norm, _ in self._entries if norm is not None and not math.isnan(norm))
        return least * len(self._entries) + sum(norms)

    def is_exploding(self) -> bool:
        """Whether loss or gradient norm grew steadily up to the last remembered step."""
        norms = [norm for _, _, norm, _ in self._entries]
        return _grows(norms) or _grows([loss for _, loss, _, _ in self._entries])


def _grows(values: Sequence[float | None]) -> bool:
    known = [abs(value) for value in values if value is not None and not math.isnan(value)]
    if len(known) < _GROWTH_STEPS:
        return False
    recent = known[-_GROWTH_STEPS:]
    rising = all(later > earlier for earlier, later in pairwise(recent))
    return rising and recent[-1] > _GROWTH_FACTOR * recent[0]
