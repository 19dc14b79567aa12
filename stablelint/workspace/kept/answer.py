"""An entry of the cache, or of a worker, read back into findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stablelint.diagnostic import Diagnostic, Passes, Place, Problem
from stablelint.workspace.kept import codec
from stablelint.workspace.kept.codec import Json

GLIMPSE = "glimpse"
"""Marks an entry that holds what a file passes, and no answer to a check."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is known of one file, whatever rules are selected."""

    findings: tuple[Diagnostic, ...] = ()
    discharged: tuple[Diagnostic, ...] = ()
    unused: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    lines: int = 0
    silenced: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    assumed: int = 0
    passes: Passes = field(default_factory=dict)  # to places in other files
    asks: Sequence[Place] = ()  # places of which it matters what other files pass
    received: Passes = field(default_factory=dict)  # what was known of those


class DamagedError(Exception):
    """The entry is not one that this program writes."""


def read(entry: Json, path: str) -> Answer:
    """The answer that an entry holds. Raises DamagedError where it is malformed, or only a glimpse."""
    try:
        if GLIMPSE in entry:
            raise DamagedError(path)
        if entry.keys() <= {"lines"}:
            return Answer(lines=int(entry.get("lines", 0)))
        counts = {str(guard): int(number) for guard, number in entry.get("counts", {}).items()}
        return Answer(
            findings=tuple(codec.decode(value, path) for value in entry.get("findings", ())),
            discharged=tuple(codec.decode(value, path) for value in entry.get("discharged", ())),
            unused=tuple(codec.decode(value, path) for value in entry.get("unused", ())),
            problems=tuple(codec.decode_problem(value, path) for value in entry.get("problems", ())),
            lines=int(entry.get("lines", 0)),
            silenced=int(entry.get("silenced", 0)),
            counts=counts,
            assumed=int(entry.get("assumed", 0)),
            passes=codec.decode_places(entry.get("passes", ())),
            asks=tuple((target, name) for target, name in entry.get("asks", ())),
            received=codec.decode_places(entry.get("received", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(path) from error


def read_passes(entry: Json) -> Passes | None:
    """What an entry says that its file passes to others; None where it is malformed."""
    try:
        return codec.decode_places(entry.get("passes", ()))
    except (ValueError, TypeError, AttributeError):
        return None
