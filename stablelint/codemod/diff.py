"""Unified diffs of one file before and after."""

from __future__ import annotations

import difflib
import re

from stablelint.codemod.source import SourceText

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def unified_diff(before: bytes, after: bytes, filename: str, context: int = 3) -> str:
    """Unified diff with the newlines of the file; empty when nothing changed.

    A last line without a newline is marked as `diff` and `patch` expect. Raises SourceError on bytes that
    cannot be decoded.
    """
    old = _LINES.findall(SourceText.decode(before).text)
    new = _LINES.findall(SourceText.decode(after).text)
    lines = difflib.unified_diff(old, new, f"a/{filename}", f"b/{filename}", n=context)
    return "".join(_terminated(line) for line in lines)


def _terminated(line: str) -> str:
    if line.endswith(("\n", "\r")):
        return line
    return f"{line}\n\\ No newline at end of file\n"
