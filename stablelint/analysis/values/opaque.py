"""What a name says of a value: that it is a mask, or lengths."""

from __future__ import annotations

import re
from functools import lru_cache

_MASK = re.compile(r"mask", re.I)
_LENGTHS = re.compile(r"(^|_|[a-z])len(s|gths?)?(_|$)", re.I)


def is_length_name(name: str) -> bool:
    """Whether something of that name is a length, or lengths."""
    return _LENGTHS.search(name) is not None


@lru_cache(maxsize=4096)
def is_mask_name(name: str) -> bool:
    """Whether something of that name is, or makes, a mask."""
    return _MASK.search(name) is not None
