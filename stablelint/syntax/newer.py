"""Type parameters and type aliases (PEP 695), blanked out for a Python that is older than they are.

Nothing that is computed hangs on them, and every other row and column (in bytes of UTF-8, as `ast` counts) stays
where it was.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator

_Place = tuple[int, int]  # row from 1, column from 0, as `tokenize` counts them
_SKIPPED = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})


def tree_of(text: str, filename: str = "<unknown>") -> ast.Module:
    """The tree of a file, without the type parameters that the running Python does not know.

    Raises what `ast.parse` raises for the text as it stands.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text, filename)
        except SyntaxError:
            known = without_type_parameters(text)
            if known is None:
                raise
        try:
            return ast.parse(known, filename)
        except SyntaxError:
            return ast.parse(text, filename)


_at_work: dict[str, ast.Module] = {}


def tree_at_work(text: str, filename: str = "<unknown>") -> ast.Module:
    """As `tree_of`, for a file that is read several times in a row: its findings are looked for, then their fixes."""
    if text not in _at_work:
        _at_work.clear()  # before the next is read: two trees of large files are not held at once
        _at_work[text] = tree_of(text, filename)
    return _at_work[text]


def without_type_parameters(text: str) -> str | None:
    """The file without `[T]` after the name of a `def` or `class`, and `type X = …` as `X = …`; None if it has none."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    rows = list(io.StringIO(text))
    found = False
    for statement in reversed(list(_statements(tokens))):  # so that what stands before keeps its column
        found |= _blank_alias(rows, statement) or _blank_parameters(rows, statement)
    return "".join(rows) if found else None


def _statements(tokens: list[tokenize.TokenInfo]) -> Iterator[list[tokenize.TokenInfo]]:
    """The tokens of each logical line, less what has no meaning."""
    line: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            yield line
            line = []
        elif token.type not in _SKIPPED:
            line.append(token)


def _blank_parameters(rows: list[str], line: list[tokenize.TokenInfo]) -> bool:
    """Blanks the brackets of `def name[…]` and `class name[…]`."""
    head = 1 if line and line[0].string == "async" else 0
    if len(line) < head + 3 or line[head].string not in ("def", "class") or line[head + 2].string != "[":
        return False
    last = _closing(line, head + 2)
    if last is None:
        return False
    _blank(rows, line[head + 2].start, line[last].end)
    return True


def _blank_alias(rows: list[str], line: list[tokenize.TokenInfo]) -> bool:
    """Turns `type X[…] = …` into an assignment: the name moves to the front, the value stays."""
    if len(line) < 4 or line[0].string != "type" or not line[1].string.isidentifier():
        return False
    last = _closing(line, 2) if line[2].string == "[" else 1
    if last is None or line[last + 1].string != "=" or line[0].start[0] != line[1].start[0]:
        return False
    _blank(rows, line[0].start, line[last].end, line[1].string)
    return True


def _closing(line: list[tokenize.TokenInfo], opening: int) -> int | None:
    """Where the bracket that is opened there closes, if something follows."""
    depth = 0
    for index in range(opening, len(line) - 1):
        depth += (line[index].string in "([{") - (line[index].string in ")]}")
        if depth == 0:
            return index
    return None


def _blank(rows: list[str], start: _Place, end: _Place, first: str = "") -> None:
    """Blanks from `start` to before `end`, all but `first`; a row that ends in between goes on in the next."""
    for row in range(start[0], end[0] + 1):
        line = rows[row - 1]
        left = start[1] if row == start[0] else 0
        right = end[1] if row == end[0] else len(line.rstrip("\r\n"))
        kept = first if row == start[0] else ""
        blank = " " * (len(line[left:right].encode()) - len(kept.encode()))
        if row < end[0]:
            blank = blank[1:] + "\\"
        rows[row - 1] = line[:left] + kept + blank + line[right:]
