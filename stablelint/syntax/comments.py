"""The comments of a text, and the lines at whose end none fits."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from typing import NamedTuple

from stablelint.syntax.source import lines_of


class Comments(NamedTuple):
    """Comments by their rows; and by the row of a line that ends in a string or a backslash the row that goes on."""

    by_row: Mapping[int, tokenize.TokenInfo]
    further: Mapping[int, int]

    def last(self, row: int) -> int:
        """The first row from one on at whose end a comment can stand."""
        while (further := self.further.get(row)) is not None:
            row = further
        return row


def comments_of(text: str) -> Comments:
    """Raises tokenize.TokenError and SyntaxError where the text cannot be tokenised."""
    lines = lines_of(text)
    by_row: dict[int, tokenize.TokenInfo] = {}
    further: dict[int, int] = {}
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            by_row[token.start[0]] = token
        elif kind.endswith("STRING_START"):
            opened.append(token.start[0])
        elif kind == "STRING" or (kind.endswith("STRING_END") and opened):
            first = token.start[0] if kind == "STRING" else opened.pop()
            further.update(dict.fromkeys(range(first, token.end[0]), token.end[0]))
    for row, line in enumerate(lines, 1):
        if row not in by_row and line.endswith("\\"):
            further.setdefault(row, row + 1)
    return Comments(by_row, further)
