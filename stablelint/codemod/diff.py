"""Unified diffs of one file before and after."""

from __future__ import annotations

import difflib
import os
import re
from unicodedata import category

from stablelint.codemod.source import SourceText

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def unified_diff(before: bytes, after: bytes, filename: str, context: int = 3) -> str:
    """Unified diff with the newlines of the file; empty when nothing changed.

    A last line without a newline is marked as `diff` and `patch` expect. Raises SourceError on bytes that
    cannot be decoded.
    """
    old = _LINES.findall(SourceText.decode(before).text)
    new = _LINES.findall(SourceText.decode(after).text)
    before_name, after_name = _quoted(f"a/{filename}"), _quoted(f"b/{filename}")
    lines = difflib.unified_diff(old, new, before_name, after_name, n=context)
    return "".join(_terminated(line) for line in lines)


def _quoted(name: str) -> str:
    """A file name as git writes it: between quotes, byte by byte, where a line could not hold it as it is."""
    if not any(sign in '"\\' or category(sign) in ("Cc", "Cs") for sign in name):
        return name
    escaped = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(name)
    )
    return f'"{"".join(escaped)}"'


def _terminated(line: str) -> str:
    if line.endswith(("\n", "\r")):
        return line
    return f"{line}\n\\ No newline at end of file\n"
