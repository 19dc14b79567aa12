"""Findings as JSON values: what the cache stores and what worker processes send.

Compact on purpose (arrays without names): a cached run is spent reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
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
    Position,
    Problem,
    Reason,
    Severity,
    Span,
    Status,
    Step,
)

Json = Any  # a value that `json` reads and writes


_LEFT_OUT = ("filename", "proposals")  # which only the rewriting needs
_FIELDS = tuple(one.name for one in fields(Diagnostic) if one.name not in _LEFT_OUT)


def encode(diagnostic: Diagnostic) -> Json:
    """The fields of the diagnostic, but for its file name and its proposals."""
    return [
        value if name != "because" else [reason for reason in value if reason.weight]
        for name, value in zip(_FIELDS, attrgetter(*_FIELDS)(diagnostic), strict=True)
    ]


def decode(value: Json, filename: str) -> Diagnostic:
    """The diagnostic that `encode` wrote. Raises ValueError, TypeError or KeyError on anything else."""
    read = dict(zip(_FIELDS, value, strict=True))
    for name, decoded in _DECODED.items():
        read[name] = decoded(read[name])
    return Diagnostic(filename=filename, **read)


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


# What is no number and no text, nor nothing.
_DECODED: dict[str, Callable[[Json], object]] = {
    "span": _span,
    "severity": Severity,
    "status": Status,
    "level": Level,
    "confidence": float,
    "because": lambda reasons: tuple(Reason(*reason) for reason in reasons),
    "derivation": lambda steps: tuple(Step(text, _span(place), other) for text, place, other in steps),
    "fix": _fix,
    "assumes": tuple,
}
