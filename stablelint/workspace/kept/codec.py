"""Findings as JSON values: what the cache stores and what worker processes send, and how that is read back.

Compact on purpose (arrays without names): a cached run is spent reading them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from stablelint.diagnostic import (
    Applicability,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Passed,
    Passes,
    Place,
    Position,
    Problem,
    Reason,
    Severity,
    Span,
    Status,
    Step,
)
from stablelint.records import dataclass, field, fields

Json = Any  # a value that `json` reads and writes


_LEFT_OUT = ("filename", "proposals")  # which only the rewriting needs
_FIELDS = tuple(one.name for one in fields(Diagnostic) if one.name not in _LEFT_OUT)
_written = attrgetter(*_FIELDS)


def encode(diagnostic: Diagnostic) -> Json:
    """The fields of the diagnostic, but for its file name and its proposals."""
    return [
        value if name != "because" else [reason for reason in value if reason.weight]
        for name, value in zip(_FIELDS, _written(diagnostic), strict=True)
    ]


def decode(value: Json, filename: str) -> Diagnostic:
    """The diagnostic that `encode` wrote. Raises ValueError, TypeError or KeyError on anything else."""
    (
        code, name, span, message, severity, status, level, expression, confidence, because, derivation, fix,
        withheld, discharged_by, assumes, url, of_gradient,
    ) = value  # fmt: skip
    return Diagnostic(
        code, name, filename, _span(span), message, _SEVERITIES[severity], _STATUSES[status], _LEVELS[level],
        expression, float(confidence), tuple([Reason(*reason) for reason in because]),
        tuple([Step(text, _span(place), other) for text, place, other in derivation]), (),
        _fix(fix), withheld, discharged_by, tuple(assumes), url, of_gradient,
    )  # fmt: skip


def encode_places(places: Passes) -> Json:
    """What is passed, by place."""
    return [[*place, passed] for place, passed in sorted(places.items())]


def decode_places(value: Json) -> Passes:
    """What `encode_places` wrote."""
    return {(target, name): tuple(Passed(*one) for one in passed) for target, name, passed in value}


def encode_problem(problem: Problem) -> Json:
    """The problem without its file name."""
    return [problem.message, problem.position, problem.hint]


def decode_problem(value: Json, filename: str) -> Problem:
    """The problem that `encode_problem` wrote."""
    message, position, hint = value
    return Problem(message, filename, Position(*position) if position else None, hint)


def _span(value: Json) -> Span:
    start, end = value
    return Span(Position(*start), Position(*end))


def _fix(value: Json) -> Fix | None:
    if value is None:
        return None
    applicability, message, edits, caution = value
    decoded = tuple(Edit(_span(span), content, filename) for span, content, filename in edits)
    return Fix(Applicability(applicability), message, decoded, caution)


# To look a member up is faster than to ask its class for it.
_SEVERITIES = {one.value: one for one in Severity}
_STATUSES = {one.value: one for one in Status}
_LEVELS = {one.value: one for one in Level}

Asks = Mapping[str, str]
"""Places by the file of their target; on a line each the rest of the target and the name: a file asks about many."""


def encode_asks(places: Iterable[Place]) -> Asks:
    """The places, in order."""
    found: dict[str, list[str]] = {}
    for place in sorted(places):
        path, line = line_of(place)
        found.setdefault(path, []).append(line)
    return {path: "\n".join(lines) for path, lines in found.items()}


def line_of(place: Place) -> tuple[str, str]:
    """The file of a place's target, or what is instead of one, and the line of the place among those of that file."""
    target, name = place
    path = target.rpartition(":")[0] if ":" in target else target
    return path, f"{target[len(path) :]} {name}"


def decode_asks(asks: Asks) -> Iterator[Place]:
    """What `encode_asks` wrote."""
    for path, lines in asks.items():
        for line in lines.split("\n"):
            rest, _, name = line.partition(" ")
            yield path + rest, name


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
    asks: Asks = field(default_factory=dict)  # places of which it matters what other files pass
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
            findings=tuple(decode(value, path) for value in entry.get("findings", ())),
            discharged=tuple(decode(value, path) for value in entry.get("discharged", ())),
            unused=tuple(decode(value, path) for value in entry.get("unused", ())),
            problems=tuple(decode_problem(value, path) for value in entry.get("problems", ())),
            lines=int(entry.get("lines", 0)),
            silenced=int(entry.get("silenced", 0)),
            counts=counts,
            assumed=int(entry.get("assumed", 0)),
            passes=decode_places(entry.get("passes", ())),
            asks={path: str(places) for path, places in entry.get("asks", {}).items()},
            received=decode_places(entry.get("received", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(path) from error


def read_passes(entry: Json) -> Passes | None:
    """What an entry says that its file passes to others; None where it is malformed."""
    try:
        return decode_places(entry.get("passes", ()))
    except (ValueError, TypeError, AttributeError):
        return None
