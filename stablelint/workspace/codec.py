"""Findings as JSON values: what the cache stores and what worker processes send.

Compact on purpose (arrays without names): a cached run is spent reading them.
"""

from __future__ import annotations

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


def encode(diagnostic: Diagnostic) -> Json:
    """The diagnostic without its file name and its proposals, which only the rewriting needs."""
    return [
        diagnostic.code,
        diagnostic.name,
        diagnostic.span,
        diagnostic.message,
        diagnostic.severity,
        diagnostic.status,
        diagnostic.level,
        diagnostic.expression,
        diagnostic.confidence,
        [reason for reason in diagnostic.because if reason.weight],
        diagnostic.derivation,
        diagnostic.fix,
        diagnostic.fix_withheld,
        diagnostic.discharged_by,
        diagnostic.url,
        diagnostic.assumes,
    ]


def decode(value: Json, filename: str) -> Diagnostic:
    """The diagnostic that `encode` wrote. Raises ValueError, TypeError or KeyError on anything else."""
    code, name, span, message, severity, status, level, *rest = value
    expression, confidence, because, steps, fix, withheld, by, url, on = rest
    return Diagnostic(
        code=code,
        name=name,
        filename=filename,
        span=_span(span),
        message=message,
        severity=Severity(severity),
        status=Status(status),
        level=Level(level),
        expression=expression,
        confidence=float(confidence),
        because=tuple(Reason(*reason) for reason in because),
        derivation=tuple(Step(text, _span(place), other) for text, place, other in steps),
        fix=_decode_fix(fix) if fix else None,
        fix_withheld=withheld,
        discharged_by=by,
        url=url,
        assumes=tuple(on),
    )


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


def _decode_fix(value: Json) -> Fix:
    applicability, message, edits, caution = value
    decoded = tuple(Edit(_span(span), content, filename) for span, content, filename in edits)
    return Fix(Applicability(applicability), message, decoded, caution)
