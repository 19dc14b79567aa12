"""Numbers in a few cells of a line, and tables of what has a name and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stablelint.runtime.plain import shape_text

_BLOCKS = "▁▂▃▄▅▆▇█"


def short(value: object) -> str:
    """A number in four digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def listed(head: str, items: Iterable[Mapping[str, Any]], columns: str) -> list[tuple[str, ...]]:
    """Rows of a table on what has a `name`: its `columns`, which are keys or `heading=key`; the first row is the head."""
    keys = [column.rpartition("=") for column in columns.split(", ")]
    rows = [(head, *(heading or key for heading, _, key in keys))]
    for item in items:
        rows.append((item["name"], *(_cell(item.get(key)) for _, _, key in keys)))
    return rows


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return shape_text(value)
    return str(value) if isinstance(value, int) else short(value)


def spark(values: Sequence[float]) -> str:
    """The course of positive numbers on a logarithmic scale, at most 16 cells."""
    known = [math.log10(value) for value in values if math.isfinite(value) and value > 0][-16:]
    if not known:
        return ""
    low, high = min(known), max(known)
    reach = (high - low) or 1.0
    return "".join(_BLOCKS[int((value - low) / reach * (len(_BLOCKS) - 1))] for value in known)
