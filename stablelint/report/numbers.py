"""Numbers in a few cells of a line."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"


def short(value: object) -> str:
    """A number in four digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def spark(values: Sequence[float]) -> str:
    """The course of positive numbers on a logarithmic scale, at most 16 cells."""
    known = [math.log10(value) for value in values if math.isfinite(value) and value > 0][-16:]
    if not known:
        return ""
    low, high = min(known), max(known)
    reach = (high - low) or 1.0
    return "".join(_BLOCKS[int((value - low) / reach * (len(_BLOCKS) - 1))] for value in known)
