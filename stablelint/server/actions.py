"""What a person can do about a finding: fix it, silence it, read about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from stablelint.catalog import Catalog
from stablelint.diagnostic import Applicability, Diagnostic
from stablelint.server import speak
from stablelint.server.text import Text
from stablelint.workspace.suppress import UNUSED_CODE

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{speak.SOURCE}"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)
OPEN_PAGE = "stablelint.openPage"
_REASON = " because "


def actions(
    found: Iterable[Diagnostic], text: Text, catalog: Catalog, asked: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    """The actions for the findings in a range of a document."""
    found = list(found)
    here = text.span(asked.text_document.uri, asked.range)
    only = asked.context.only
    if _is_requested(types.CodeActionKind.QuickFix.value, only):
        for item in found:
            uri, place = speak.diagnostic(item, text, catalog)
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
    if page := speak.page_of(item.code, catalog):
        command = types.Command(f"{item.code}: read the page", OPEN_PAGE, arguments=[page])
        yield types.CodeAction(command.title, quick, [place], command=command)


def _with_reason(data: bytes, code: str) -> bytes:
    """Room for the reason behind a comment that is new."""
    comment = f"# noqa: {code}".encode()
    lines = data.split(b"\n")
    return b"\n".join(line + _REASON.encode() if line.endswith(comment) else line for line in lines)
