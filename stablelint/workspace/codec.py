"""Findings as JSON values: what the cache stores and what worker processes send.

Compact on purpose (arrays, spans as four numbers): a cached run is spent reading them.
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
        _encode_span(diagnostic.span),
        diagnostic.message,
        diagnostic.severity.value,
        diagnostic.status.value,
        diagnostic.level.value,
        diagnostic.expression,
        diagnostic.confidence,
        [[reason.fact, reason.sentence, reason.weight] for reason in diagnostic.because if reason.weight],
        [[step.text, _encode_span(step.span), step.filename] for step in diagnostic.derivation],
        _encode_fix(diagnostic.fix) if diagnostic.fix else None,
        diagnostic.fix_withheld,
        diagnostic.discharged_by,
        diagnostic.url,
        list(diagnostic.assumes),
    ]


def decode(value: Json, filename: str) -> Diagnostic:
    """The diagnostic that `encode` wrote. Raises ValueError, TypeError or KeyError on anything else."""
    code, name, span, message, severity, status, level, *rest = value
    expression, confidence, because, steps, fix, withheld, by, url, on = rest
    return Diagnostic(
        code=code,
        name=name,
        filename=filename,
        span=_decode_span(span),
        message=message,
        severity=Severity(severity),
        status=Status(status),
        level=Level(level),
        expression=expression,
        confidence=float(confidence),
        because=tuple(Reason(*reason) for reason in because),
        derivation=tuple(Step(text, _decode_span(place), other) for text, place, other in steps),
        fix=_decode_fix(fix) if fix else None,
        fix_withheld=withheld,
        discharged_by=by,
        url=url,
        assumes=tuple(on),
    )


def encode_places(places: Passes) -> Json:
    """What is passed, by place."""
    return [[*place, [[p.path, p.row, p.text] for p in passed]] for place, passed in sorted(places.items())]


def decode_places(value: Json) -> Passes:
    """What `encode_places` wrote."""
    return {(target, name): tuple(Passed(*one) for one in passed) for target, name, passed in value}


def encode_problem(problem: Problem) -> Json:
    """The problem without its file name."""
    position = problem.position
    return [problem.message, position and [position.row, position.column], problem.hint]


def decode_problem(value: Json, filename: str) -> Problem:
    """The problem that `encode_problem` wrote."""
    message, position, hint = value
    return Problem(message, filename, Position(*position) if position else None, hint)


def _encode_span(span: Span) -> Json:
    return [span.start.row, span.start.column, span.end.row, span.end.column]


def _decode_span(value: Json) -> Span:
    row, column, end_row, end_column = value
    return Span(Position(row, column), Position(end_row, end_column))


def _encode_fix(fix: Fix) -> Json:
    edits = [[_encode_span(edit.span), edit.content, edit.filename] for edit in fix.edits]
    return [fix.applicability.value, fix.message, edits, fix.caution]


def _decode_fix(value: Json) -> Fix:
    applicability, message, edits, caution = value
    decoded = tuple(Edit(_decode_span(span), content, filename) for span, content, filename in edits)
    return Fix(Applicability(applicability), message, decoded, caution)
