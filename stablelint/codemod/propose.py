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
    firsts = [(item.code, best) for item in found for best in item.proposals[:1]]
    sharing = [(code, place, best) for code, best in firsts for place in _classes_changed(best)]
    return [_with_others(item, sharing) if item.proposals else item for item in found]


def _classes_changed(best: Proposal) -> list[Span]:
    parts = (one for one in best.also if one.kind == "replace" and not one.bindings and one.filename is None)
    return [one.span for one in parts if one.anchor is not None]


def _with_others(item: Diagnostic, sharing: list[tuple[str, Span, Proposal]]) -> Diagnostic:
    best, *further = item.proposals
    own = _classes_changed(best)
    others = [one for code, place, one in sharing if code == item.code and place in own and one is not best]
    also = [part for one in others for part in (replace(one, also=()), *one.also)]
    return replace(item, proposals=(replace(best, also=(*best.also, *also)), *further)) if also else item
