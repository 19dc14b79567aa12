"""Fixes for findings, in one call; what does the work is imported only where there is work."""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.codemod.text.source import Read
from stablelint.diagnostic import Diagnostic


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
    return [rewriter.propose(diagnostic) for diagnostic in given]
