"""Findings, problems and ranges in the protocol's words, and what a person can do about a finding: fix, silence, read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from stablelint.catalog import Catalog
from stablelint.diagnostic import Applicability, Diagnostic, Level, Position, Problem, Severity, Span, Step
from stablelint.report.rest import share
from stablelint.server.text import Text
from stablelint.workspace.suppress import UNUSED_CODE

if TYPE_CHECKING:
    from stablelint.analysis.ranges_at import RangeAt, Ranges
    from stablelint.workspace.runs.seen import Seen

SOURCE = "stablelint"
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)
OPEN_PAGE = "stablelint.openPage"
_REASON = " because "
_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def uri_of(path: str) -> str:
    """The URI of a file on disk."""
    return Path(os.path.abspath(path)).as_uri()


def page_of(code: str, catalog: Catalog) -> str | None:
    """The URI of a rule's page."""
    rule = catalog.rules.get(code)
    return None if rule is None else rule.url or uri_of(rule.path)


def diagnostic(item: Diagnostic, text: Text, catalog: Catalog) -> tuple[str, types.Diagnostic]:
    """A finding, and the document in which it stands."""
    uri, place = text.range(item.span)
    page = page_of(item.code, catalog)
    found = types.Diagnostic(
        range=place,
        message=f"{item.name}: {item.message} ({share(item.confidence)})",
        # What is not likely stays in the background.
        severity=_SEVERITY[item.severity] if item.level is Level.LIKELY else types.DiagnosticSeverity.Hint,
        code=item.code,
        code_description=types.CodeDescription(page) if page else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if item.code == UNUSED_CODE else None,
        related_information=[_related(step, text) for step in item.derivation] or None,
        data={
            "status": item.status.value,
            "confidence": item.confidence,
            "because": [reason.sentence for reason in item.because],
        },
    )
    return uri, found


def problem(item: Problem) -> types.Diagnostic:
    """What the tool could not do, at its place."""
    place = item.position or Position(1, 1)
    start = types.Position(place.row - 1, place.column - 1)
    hint = f" ({item.hint})" if item.hint else ""
    return types.Diagnostic(
        range=types.Range(start, start),
        message=item.message + hint,
        severity=types.DiagnosticSeverity.Error,
        source=SOURCE,
    )


def hover(known: RangeAt, seen: Seen | None, text: Text) -> types.Hover:
    """What is known of an expression: its range, what bounds it, whether a gradient passes, what a run has seen."""
    sort = f"{known.dtype} {known.kind}" if known.dtype else known.kind
    lines = [f"**{known.interval}**" if known.is_bounded else "**any value**"]
    lines[0] += "" if sort == "unknown" else f" · {sort}"
    if known.because:
        lines.append(known.because)
    if known.guard and f"{known.guard}(" not in (known.because or ""):
        lines.append(f"bounded by {_GUARDS.get(known.guard, f'`{known.guard}`')}")
    if known.kind == "tensor":
        lines.append("a gradient can pass" if known.gradient else "no gradient passes")
    if seen is not None:
        lines.append(str(seen))
    content = types.MarkupContent(types.MarkupKind.Markdown, "  \n".join(lines))
    return types.Hover(content, text.range(known.span)[1])


_GUARDS = {"branch": "a test on this path", "eps": "an offset", "nonempty": "a test that it holds an element"}


def hints(ranges: Ranges, seen: Mapping[Span, Seen], text: Text, shown: Span) -> Iterator[types.InlayHint]:
    """The range of each name that is bound to a tensor of which something is known."""
    for span, known in ranges.bound.items():
        told = known.kind == "tensor" and known.dtype != "bool" and known.is_bounded
        if not told or not shown.contains(span):
            continue
        place = text.range(span)[1].end
        tooltip = "; ".join(str(part) for part in (known.because, seen.get(span)) if part)
        yield types.InlayHint(place, f" ∈ {known.interval}", types.InlayHintKind.Type, tooltip=tooltip)


def _related(step: Step, text: Text) -> types.DiagnosticRelatedInformation:
    if step.filename is None or step.filename == text.path:
        uri, place = text.range(step.span)
    else:  # another file, whose lines are not at hand: characters count as the editor's units
        start, end = (types.Position(at.row - 1, at.column - 1) for at in (step.span.start, step.span.end))
        uri, place = uri_of(step.filename), types.Range(start, end)
    return types.DiagnosticRelatedInformation(types.Location(uri, place), step.text)


def actions(
    found: Iterable[Diagnostic], text: Text, catalog: Catalog, asked: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    """The actions for the findings in a range of a document."""
    found = list(found)
    here = text.span(asked.text_document.uri, asked.range)
    only = asked.context.only
    if _is_requested(types.CodeActionKind.QuickFix.value, only):
        for item in found:
            uri, place = diagnostic(item, text, catalog)
            if uri == asked.text_document.uri and (item.span.overlaps(here) or item.span.contains(here)):
                yield from _of_finding(item, place, text, catalog)
    if _is_requested(FIX_ALL, only) and any(_is_safe(item) for item in found):
        yield types.CodeAction(
            "Fix everything that is safe (stablelint)", kind=FIX_ALL, data=asked.text_document.uri
        )


def _is_requested(kind: str, only: Iterable[str] | None) -> bool:
    """Whether a kind, or one above it, is among those that the editor asks for."""
    kinds = [getattr(item, "value", item) for item in only or ()]
    return not kinds or any(kind == item or kind.startswith(f"{item}.") for item in kinds)


def _is_safe(item: Diagnostic) -> bool:
    return item.fix is not None and item.fix.applicability is Applicability.SAFE


def _of_finding(
    item: Diagnostic, place: types.Diagnostic, text: Text, catalog: Catalog
) -> Iterator[types.CodeAction]:
    quick = types.CodeActionKind.QuickFix
    is_here = item.fix is not None and not item.fix.is_across
    if is_here and item.fix is not None and item.fix.applicability is not Applicability.DISPLAY:
        safe = _is_safe(item)
        yield types.CodeAction(
            title=f"{item.code}: {item.fix.message}"
            + ("" if safe else f" ({item.fix.caution or 'changes values'})"),
            kind=quick,
            diagnostics=[place],
            is_preferred=safe,
            edit=types.WorkspaceEdit(changes=text.text_edits(item.fix.edits)),
        )
    if item.code == UNUSED_CODE:
        return
    from stablelint.codemod.text.noqa import add_noqa
    from stablelint.codemod.text.source import SourceError

    try:
        silenced = list(text.edits_to(_with_reason(add_noqa(text.data, [item]), item.code)))
    except SourceError:
        silenced = []
    if silenced:
        edit = types.WorkspaceEdit(changes=text.text_edits(silenced))
        yield types.CodeAction(f"{item.code}: ignore here, with a reason", quick, [place], edit=edit)
    if page := page_of(item.code, catalog):
        command = types.Command(f"{item.code}: read the page", OPEN_PAGE, arguments=[page])
        yield types.CodeAction(command.title, quick, [place], command=command)


def _with_reason(data: bytes, code: str) -> bytes:
    """Room for the reason behind a comment that is new."""
    comment = f"# noqa: {code}".encode()
    lines = data.split(b"\n")
    return b"\n".join(line + _REASON.encode() if line.endswith(comment) else line for line in lines)
