"""Breaking a line that a rewrite would make too long."""

from __future__ import annotations

import io
import tokenize

from stablelint.codemod.draft import Change
from stablelint.codemod.source import SourceText

_USUAL = 88
_LONGEST = 120


def limit(source: SourceText) -> int:
    """How long the lines of a file may be: as long as its longest are, within reason."""
    longest = max((len(line) for line in source.text.splitlines()), default=0)
    return min(max(longest, _USUAL), _LONGEST)


def broken(source: SourceText, change: Change) -> list[Change] | None:
    """The change with its line broken at a pair of brackets; None where it needs no break or has no place.

    As formatters do, the content of the last outermost brackets that the change touches gets its own line.
    """
    start, end, text = change
    row = source.position(start).row
    if row != source.position(end).row or "\n" in text or "\r" in text:
        return None
    first = source.line_start(row)
    before, after = source.text[first:start], source.text[end : source.line_end(row)]
    line = before + text + after
    pair = _brackets(line, len(before), len(before) + len(text))
    if pair is None:
        return None
    opening, closing, code_end = pair
    if code_end <= limit(source) or code_end <= source.line_end(row) - first:
        return None
    indent = line[: len(line) - len(line.lstrip())]
    newline = source.newline + indent
    step = "\t" if "\t" in indent else "    "
    if len(indent) + len(step) + closing - opening > _LONGEST:
        return None
    return _inserted(change, first, [(opening, newline + step), (closing, newline)])


def _brackets(line: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Start and end of the content of the last outermost brackets that touch `start:end`; the code's end."""
    opened: list[int] = []
    found: tuple[int, int] | None = None
    code_end = 0
    lead = len(line) - len(line.lstrip())
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.lstrip() + "\n").readline):
            if token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
                continue
            code_end = lead + token.end[1]
            if token.type != tokenize.OP:
                continue
            if token.string in "([{":
                opened.append(code_end)
            elif token.string in ")]}":
                content = opened.pop(), lead + token.start[1]
                touches = content[0] < end and start < content[1]
                if not opened and touches and content[1] - content[0] > 1:
                    found = content
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return None if found is None else (*found, code_end)


def _inserted(change: Change, first: int, breaks: list[tuple[int, str]]) -> list[Change]:
    """The change with texts inserted at columns of the new line that starts at offset `first`."""
    start, end, text = change
    pieces: list[Change] = []
    for column, content in reversed(breaks):
        inside = column - (start - first)
        if inside < 0:
            pieces.append((first + column, first + column, content))
        elif inside <= len(text):
            text = text[:inside] + content + text[inside:]
        else:
            offset = end + inside - len(change[2])
            pieces.append((offset, offset, content))
    return sorted([*pieces, (start, end, text)])
