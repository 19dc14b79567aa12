"""The length of a data set that ends before the first sample that it cannot give as it gives the others."""

from __future__ import annotations

import ast
import bisect
import copy
from collections.abc import Iterator
from typing import Any

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.deduced import silenced
from stablelint.runtime.crash.source import returned


def shorter(whole: Any, index: Any) -> Iterator[str]:
    """What `__len__` is to return, if all samples from some place up to one at the end fail."""
    told, data = returned(getattr(type(whole), "__len__", None)), copy.copy(whole)
    if type(index) is not int or len(told) != 1 or not 0 < index < len(data):
        return

    def is_odd(place: int) -> bool:
        try:
            data[place]
        except Exception:  # whatever the program raises
            return True
        return False

    with undisturbed(), silenced():
        if not is_odd(index) or not is_odd(len(data) - 1):
            return
        count = bisect.bisect_left(range(index), True, key=is_odd)
    less, text = len(data) - count, ast.unparse(told[0])
    held = {value: f"self.{name}" for name, value in vars(data).items() if type(value) is int}
    named = held.get(less) or (f"{held[less + 1]} + 1" if less + 1 in held else None)
    if less < count:
        yield f"return {text} - {named or less} in {type(data).__name__}.__len__: {count} samples can be given"
