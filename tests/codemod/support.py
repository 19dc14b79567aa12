"""Findings built by hand: a source, an expression in it, a template, and what its metavariables are."""

from stablelint.codemod.propose import propose
from stablelint.codemod.text.edits import apply_edits
from stablelint.codemod.text.source import SourceText
from stablelint.diagnostic import (
    Applicability,
    Binding,
    Diagnostic,
    Level,
    Proposal,
    Severity,
    Span,
    Status,
)

HEAD = "import torch\nimport torch.nn.functional as F\n"
CLAMPED_LOG = "torch.log($x.clamp_min(torch.finfo($x.dtype).tiny))"


def span_of(source: str, text: str, occurrence: int = 0, start: int = 0) -> Span:
    at = source.index(text, start)
    for _ in range(occurrence):
        at = source.index(text, at + 1)
    return SourceText.of_text(source).span(at, at + len(text))


def bindings(source: str, within: Span, given: dict[str, str | Binding]) -> dict[str, Binding]:
    """Texts are looked up within the span, from the left, each after the one before where possible."""
    decoded = SourceText.of_text(source)
    start, end = decoded.offset(within.start), decoded.offset(within.end)
    found: dict[str, Binding] = {}
    # The first name of a call is what is called; operands stand behind the first parenthesis or before a dot.
    opening = source.find("(", start, end) + 1
    for name, value in given.items():
        if isinstance(value, Binding):
            found[name] = value
            continue
        at = source.find(value, opening, end)
        if at < 0:
            at = source.index(value, start, end)
        found[name] = Binding(value, decoded.span(at, at + len(value)))
    return found


def proposal(
    source: str,
    text: str,
    template: str,
    *,
    kind: str = "replace",
    anchor: str | None = None,
    occurrence: int = 0,
    also: tuple[Proposal, ...] = (),
    **given: str | Binding,
) -> Proposal:
    span = span_of(source, text, occurrence)
    return Proposal(
        template=template,
        applicability=Applicability.SAFE,
        span=span,
        bindings=bindings(source, span, given),
        message="say it better",
        kind=kind,
        anchor=span_of(source, anchor) if anchor is not None else None,
        also=also,
    )


def diagnostic(
    source: str, *proposals: Proposal, code: str = "SL101", finding: str | None = None
) -> Diagnostic:
    place = proposals[0].span if finding is None else span_of(source, finding)
    return Diagnostic(
        code=code,
        name="unguarded-log",
        filename="model.py",
        span=place,
        message="x > 0",
        severity=Severity.ERROR,
        status=Status.UNGUARDED,
        level=Level.LIKELY,
        expression=SourceText.of_text(source).slice(place),
        proposals=proposals,
    )


def rewritten(source: str, *proposals: Proposal, finding: str | None = None) -> str:
    """The source with the fix made; fails with the reason when it is withheld."""
    found = propose(source.encode(), diagnostic(source, *proposals, finding=finding))
    assert found.fix is not None, found.fix_withheld
    assert found.fix_withheld is None
    return apply_edits(source.encode(), found.fix.edits).decode()


def withheld(source: str, *proposals: Proposal, finding: str | None = None) -> str:
    """Why the fix is withheld; fails when it is made."""
    found = propose(source.encode(), diagnostic(source, *proposals, finding=finding))
    assert found.fix is None, found.fix
    assert found.fix_withheld
    return found.fix_withheld


def body(text: str) -> str:
    """What follows `HEAD`, which must not have changed."""
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD)
