"""Silencing findings by `# noqa` comments, for the adoption of an old code base."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable

from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Diagnostic
from stablelint.syntax.comments import comments_of

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
    try:
        comments = comments_of(text.text)
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"the file cannot be tokenised: {error}") from error
    for diagnostic in diagnostics:
        if not 1 <= diagnostic.span.start.row <= len(text.starts):
            raise SourceError(f"line {diagnostic.span.start.row} lies outside the file")
        wanted.setdefault(comments.last(diagnostic.span.start.row), set()).add(diagnostic.code)
    pieces: list[str] = []
    done = 0
    for row in sorted(wanted):
        start, end, content = _comment(text, row, comments.by_row.get(row), wanted[row])
        pieces += [text.text[done:start], content]
        done = end
    pieces.append(text.text[done:])
    return text.encode("".join(pieces))


def _comment(
    source: SourceText, row: int, existing: tokenize.TokenInfo | None, codes: set[str]
) -> tuple[int, int, str]:
    """The change that puts `codes` into the line's comment: start and end offset, new text."""
    end = source.line_end(row)
    listed = ", ".join(sorted(codes))
    if existing is None:
        line = source.line(row)
        bare = source.line_start(row) + len(line.rstrip())
        return bare, end, f"  # noqa: {listed}"
    column, comment = existing.start[1], existing.string
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
