"""What holds the memory of a GPU at its peak, by the line of the program that asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from stablelint.runtime.program.frames import is_library
from stablelint.runtime.tracing.graph import Row

_MOST_EVENTS = 200_000
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class Peak:
    """The allocated bytes of a device at their peak: `before` were there when the record began, `capacity` are its own.

    `parts` are those asked for since, by file and line, the largest first; None stands for what no line of the
    program asked for, as the backward pass does.
    """

    total: int
    before: int
    capacity: int
    parts: tuple[tuple[Row | None, int], ...]


class Allocations:
    """Records the allocations of the current GPU, where the program uses one and records none itself."""

    def __init__(self) -> None:
        self._before: int | None = None

    def start(self) -> None:
        """Begin to record. Nothing is done where CUDA is not in use: to ask would initialise it."""
        if self._before is not None or not torch.cuda.is_initialized():
            return
        if any(torch.cuda.memory._snapshot()["device_traces"]):
            return  # the trace belongs to who records already
        self._before = torch.cuda.memory_allocated()
        torch.cuda.memory._record_memory_history("all", "alloc", "python", _MOST_EVENTS)

    def stop(self) -> Peak | None:
        """End the record; its peak, or None where nothing was recorded."""
        if self._before is None:
            return None
        device = torch.cuda.current_device()
        trace = torch.cuda.memory._snapshot()["device_traces"][device]
        torch.cuda.memory._record_memory_history(None)
        before, self._before = self._before, None
        return peak_of(trace, before, torch.cuda.get_device_properties(device).total_memory)


def peak_of(trace: Iterable[Mapping[str, Any]], before: int, capacity: int) -> Peak:
    """The peak of a trace of `torch.cuda.memory._snapshot()`, whose record began with `before` allocated bytes."""
    events = [event for event in trace if event["action"] in ("alloc", "free_requested")]
    total, highest, place = before, before, 0
    for number, event in enumerate(events, 1):
        total += event["size"] if event["action"] == "alloc" else -event["size"]
        if total > highest:
            highest, place = total, number
    live: dict[int, Mapping[str, Any]] = {}
    freed = 0  # of what was there before
    for event in events[:place]:
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif live.pop(event["addr"], None) is None:
            freed += event["size"]
    parts = Counter[Row | None]()
    for event in live.values():
        lines = ((f["filename"], f["line"]) for f in event.get("frames", ()) if not is_library(f["filename"]))
        parts[next(lines, None)] += event["size"]
    return Peak(highest, before - freed, capacity, tuple(parts.most_common()))


def sized(count: int) -> str:
    """A number of bytes as people write it: `1.5 GiB`."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count / 1024**unit:.3g} {_UNITS[unit]}"
