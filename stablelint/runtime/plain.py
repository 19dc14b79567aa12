"""Results as JSON has them; counts and shapes as a sentence has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def plain(value: Any) -> Any:
    """Dataclasses by their fields or `as_json`, tuples as arrays, and what JSON has no number for as text: "nan", "inf"."""
    if hasattr(value, "as_json"):
        return value.as_json()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def shape_text(sizes: Sequence[int]) -> str:
    """`(8, 3)` as 8×3."""
    return "×".join(map(str, sizes)) or "scalar"


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,024 fixes`."""
    ending = "" if count == 1 else "es" if noun.endswith(("x", "s", "ch")) else "s"
    return f"{count:,} {noun}{ending}"
