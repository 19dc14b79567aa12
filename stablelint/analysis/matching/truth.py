"""Three-valued answers, after Kleene: what is not known is said as not known."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Truth(IntEnum):
    """Whether a condition holds, as far as values, types and control flow tell."""

    NO = 0
    MAYBE = 1  # nothing speaks against it, and nothing shows it
    YES = 2

    @classmethod
    def of(cls, known: bool) -> Truth:
        """The truth of what is known."""
        return cls.YES if known else cls.NO

    def negated(self) -> Truth:
        """The truth of the contrary."""
        return Truth(Truth.YES - self)


def all_of(parts: Iterable[Truth]) -> Truth:
    """The truth of a conjunction; no part is asked for after one that fails."""
    worst = Truth.YES
    for part in parts:
        worst = min(worst, part)
        if worst is Truth.NO:
            break
    return worst
