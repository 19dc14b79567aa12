"""The guard: a cheap watch over training steps that names the expression behind a NaN.

How a step is repeated without asking for a function that repeats it: the watch keeps what a step starts
from (random state, batch, written buffers, names that a loop carries on), and on alarm the source around
the instruction that called `backward` or the optimizer is compiled once more and run under an operation-
level mode (`region`, `replay`, `trace`). It runs before the optimizer has written anything, so the
parameters are those of the step. A loss that comes out bit for bit the same proves the repetition; anything
else is said in the event.
"""

from __future__ import annotations

from stablelint.runtime import supported  # noqa: F401
from stablelint.runtime.guard.api import Guard
from stablelint.runtime.guard.bisect import BadBatch, find_first_bad_batch, find_first_bad_checkpoint
from stablelint.runtime.guard.reporting.event import Event, NonFiniteError

__all__ = [
    "BadBatch",
    "Event",
    "Guard",
    "NonFiniteError",
    "find_first_bad_batch",
    "find_first_bad_checkpoint",
]
