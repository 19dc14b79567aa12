"""Methods that are written one below the other: what a rewrite adds to such a chain goes on in the same way."""

from __future__ import annotations

import re

from stablelint.codemod.text.draft import Change
from stablelint.codemod.text.source import SourceText

_NEXT_LINK = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?=\.)")
_LAST_TERM = re.compile(r"((?:\r\n|\n|\r)[ \t]*)[+-] [^\r\n]*\Z")


def chained(source: SourceText, change: Change) -> Change:
    """The change with a method or term that it appends on a line of its own, where the chain or sum is written so."""
    start, end, text = change
    original = source.text[start:end]
    term = _LAST_TERM.search(original)
    if term is not None and text.startswith(f"{original} + "):
        return start, end, f"{original}{term[1]}{text.removeprefix(original).lstrip()}"
    links = list(_NEXT_LINK.finditer(source.text, start, end))
    own = links[-1] if links and "\n" not in source.text[links[-1].end() : end] else None
    following = _NEXT_LINK.match(source.text, end) or own
    appended = text.removeprefix(original)
    if following is None or not text.startswith(original) or not appended.startswith("."):
        return change
    return start, end, original + following.group() + appended


def behind_brackets(source: SourceText, change: Change, opened: int, closed: int) -> Change | None:
    """The change with a method that it appends behind brackets that hold the original on lines of their own.

    The brackets reach from `opened` to `closed`.
    """
    start, end, text = change
    appended = text.removeprefix(f"({source.text[start:end]})")
    if appended == text:
        appended = text.removeprefix(source.text[start:end])
    if appended == text or not appended.startswith(".") or "\n" not in source.text[opened:start]:
        return None
    following = _NEXT_LINK.match(source.text, closed)
    return closed, closed, (following.group() if following is not None else "") + appended
