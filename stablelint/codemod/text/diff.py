"""Unified diffs of one file before and after."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from unicodedata import category

from stablelint.codemod.text.source import SourceText

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def unified_diff(before: bytes, after: bytes, filename: str, context: int = 3) -> str:
    """Unified diff with the newlines of the file; empty when nothing changed.

    A last line without a newline is marked as `diff` and `patch` expect. Raises SourceError on bytes that
    cannot be decoded.
    """
    return "".join(_lines(SourceText.decode(before).text, SourceText.decode(after).text, filename, context))


def patch(before: bytes, after: bytes, filename: str, context: int = 3) -> bytes:
    """The same for a tool that applies it: the lines are the bytes of the file, whatever its encoding.

    So they are found in a file in Latin-1, and in one that starts with a byte-order mark.
    """
    lines = _lines(before.decode("latin-1"), after.decode("latin-1"), filename, context)
    # Two lines of names come first; Latin-1 takes every byte of the others there and back.
    return b"".join(line.encode("utf-8" if row < 2 else "latin-1") for row, line in enumerate(lines))


def _lines(before: str, after: str, filename: str, context: int) -> Iterator[str]:
    old, new = _LINES.findall(before), _LINES.findall(after)
    names = _quoted(f"a/{filename}"), _quoted(f"b/{filename}")
    return map(_terminated, difflib.unified_diff(old, new, *names, n=context))


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
