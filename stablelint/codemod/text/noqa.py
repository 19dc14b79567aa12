"""Silencing findings by `# noqa` comments, for the adoption of an old code base."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Diagnostic

_NOQA = re.compile(r"#\s*noqa(?P<codes>\s*:\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)?(?![\w-])", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)


def add_noqa(source: bytes, diagnostics: Iterable[Diagnostic]) -> bytes:
    """Add ``# noqa: CODE`` to the line on which each finding starts, merged into a `noqa` that is there.

    Where that line ends inside a string or in a backslash, the comment goes to the first line after it that
    can hold one. A bare `noqa` is left alone: it silences everything already. Raises SourceError when the
    source cannot be decoded or tokenised.
    """
    text = SourceText.decode(source)
    wanted: dict[int, set[str]] = {}
    lines = _Lines(text)
    for diagnostic in diagnostics:
        if not 1 <= diagnostic.span.start.row <= len(text.starts):
            raise SourceError(f"line {diagnostic.span.start.row} lies outside the file")
        wanted.setdefault(lines.holder(diagnostic.span.start.row), set()).add(diagnostic.code)
    pieces: list[str] = []
    done = 0
    for row in sorted(wanted):
        start, end, content = _comment(text, row, lines.comments.get(row), wanted[row])
        pieces += [text.text[done:start], content]
        done = end
    pieces.append(text.text[done:])
    return text.encode("".join(pieces))


class _Lines:
    """Where comments are, and where they can be."""

    def __init__(self, source: SourceText) -> None:
        self.comments: dict[int, tuple[int, str]] = {}  # row: column from 0, text
        self._next: dict[int, int] = {}
        opened: list[int] = []
        # The tokeniser knows "\n" alone on some platforms' texts; rows stay the same.
        normal = re.sub(r"\r\n?", "\n", source.text)
        try:
            for token in tokenize.generate_tokens(io.StringIO(normal).readline):
                name = tokenize.tok_name[token.type]
                if token.type == tokenize.COMMENT:
                    self.comments[token.start[0]] = (token.start[1], token.string)
                elif name.endswith("STRING_START"):
                    opened.append(token.start[0])
                elif token.type == tokenize.STRING or (name.endswith("STRING_END") and opened):
                    first = token.start[0] if token.type == tokenize.STRING else opened.pop()
                    for row in range(first, token.end[0]):
                        self._next[row] = token.end[0]
        except (tokenize.TokenError, SyntaxError) as error:
            raise SourceError(f"the file cannot be tokenised: {error}") from error
        for row in range(1, len(source.starts) + 1):
            if row not in self.comments and source.line(row).endswith("\\"):
                self._next.setdefault(row, row + 1)

    def holder(self, row: int) -> int:
        """The first line from `row` on at whose end a comment can stand."""
        while (further := self._next.get(row)) is not None:
            row = further
        return row


def _comment(
    source: SourceText, row: int, existing: tuple[int, str] | None, codes: set[str]
) -> tuple[int, int, str]:
    """The change that puts `codes` into the line's comment: start and end offset, new text."""
    end = source.line_end(row)
    listed = ", ".join(sorted(codes))
    if existing is None:
        line = source.line(row)
        bare = source.line_start(row) + len(line.rstrip())
        return bare, end, f"  # noqa: {listed}"
    column, comment = existing
    found = _NOQA.search(comment)
    if found is None:
        # Behind the comment that is there: `# type: ignore` counts only where it comes first.
        place = source.line_start(row) + column + len(comment.rstrip())
        return place, place, f"  # noqa: {listed}"
    if found["codes"] is None:
        return end, end, ""
    have = _CODE.findall(found["codes"])
    missing = sorted(codes - {code.upper() for code in have})
    place = source.line_start(row) + column + found.end("codes")
    return place, place, "".join(f", {code}" for code in missing)
