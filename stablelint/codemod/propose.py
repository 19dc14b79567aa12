"""Fixes for findings, in one call; what does the work is imported only where there is work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stablelint.codemod.text.source import Read
from stablelint.diagnostic import Diagnostic, Proposal, Span


def propose(source: bytes, diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with `fix` filled in from its proposals, or `fix_withheld` saying why not."""
    return propose_all(source, [diagnostic])[0]


def propose_all(
    source: bytes, diagnostics: Iterable[Diagnostic], read: Read | None = None
) -> list[Diagnostic]:
    """As `propose`, for all findings of a file, which is parsed once.

    A fix may change other files only where `read` tells what they hold; it is withheld else.
    """
    given = list(diagnostics)
    if not any(diagnostic.proposals and diagnostic.fix is None for diagnostic in given):
        return given
    from stablelint.codemod.rewrite import Rewriter

    rewriter = Rewriter(source, read)
    return [rewriter.propose(diagnostic) for diagnostic in _at_all_calls(given)]


def _at_all_calls(found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings, with one rewrite for all calls of an object whose class a first proposal changes."""
    sharing: dict[tuple[str, Span], list[Proposal]] = {}
    for item in found:
        for best in item.proposals[:1]:
            for part in filter(_is_of_class, best.also):
                sharing.setdefault((item.code, part.span), []).append(best)
    return [_with_others(item, sharing) for item in found]


def _is_of_class(part: Proposal) -> bool:
    return part.kind == "replace" and not part.bindings and part.anchor is not None and part.filename is None


def _with_others(item: Diagnostic, sharing: dict[tuple[str, Span], list[Proposal]]) -> Diagnostic:
    spans = [part.span for best in item.proposals[:1] for part in filter(_is_of_class, best.also)]
    others = [one for span in spans for one in sharing[item.code, span] if one is not item.proposals[0]]
    if not others:
        return item
    best, *further = item.proposals
    also = (part for one in others for part in (replace(one, also=()), *one.also))
    return replace(item, proposals=(replace(best, also=(*best.also, *also)), *further))
