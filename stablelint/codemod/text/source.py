"""The text of a Python file: decoded as Python itself decodes it, with exact positions in both directions."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from stablelint.diagnostic import Position, Span
from stablelint.records import dataclass

Read = Callable[[str], bytes]
"""The content of a file by its path; raises OSError where it cannot be read."""

# Python ends a line at these and nowhere else; str.splitlines would also break at form feeds and U+2028.
_NEWLINE = re.compile(r"\r\n|\n|\r")
_SINGLE = re.compile(r"(?<=[\s(\[{=,])'(?!')")
_DOUBLE = re.compile(r'(?<=[\s(\[{=,])"(?!")')


class SourceError(Exception):
    """A source that cannot be read as Python text; the message is one line for the user."""


@lru_cache(maxsize=1)
def _quote_of(text: str) -> str:
    return "'" if len(_SINGLE.findall(text)) > len(_DOUBLE.findall(text)) else '"'


@dataclass(frozen=True, slots=True)
class SourceText:
    """Decoded source with line starts; `text` has no byte-order mark and keeps its newlines."""

    text: str
    encoding: str
    newline: str
    starts: tuple[int, ...]

    @classmethod
    def decode(cls, source: bytes) -> SourceText:
        """Decode by byte-order mark and PEP 263 cookie, strictly; SourceError when either does not fit."""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            text = source.decode(encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise SourceError(f"the file cannot be decoded: {error}") from error
        return cls.of_text(text, encoding)

    @classmethod
    def of_text(cls, text: str, encoding: str = "utf-8") -> SourceText:
        """Wrap text that is already decoded."""
        breaks = list(_NEWLINE.finditer(text))
        counts = Counter(match.group() for match in breaks)
        newline = counts.most_common(1)[0][0] if counts else "\n"
        return cls(text, encoding, newline, (0, *(match.end() for match in breaks)))

    @property
    def quote(self) -> str:
        """The mark that most of the file's strings begin with."""
        return _quote_of(self.text)

    def encode(self, text: str) -> bytes:
        """Turn edited text back into bytes in the file's own encoding, byte-order mark included."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise SourceError(f"the edited text cannot be written as {self.encoding}: {error}") from error

    def offset(self, position: Position) -> int:
        """Offset in characters of a position; SourceError outside the file."""
        if not 1 <= position.row <= len(self.starts):
            raise SourceError(f"line {position.row} lies outside the file")
        offset = self.starts[position.row - 1] + position.column - 1
        if position.column < 1 or offset > self.line_end(position.row):
            raise SourceError(f"column {position.column} lies outside line {position.row}")
        return offset

    def position(self, offset: int) -> Position:
        """Position of an offset in characters."""
        row = bisect_right(self.starts, offset)
        return Position(row, offset - self.starts[row - 1] + 1)

    def span(self, start: int, end: int) -> Span:
        """Span between two offsets."""
        return Span(self.position(start), self.position(end))

    def slice(self, span: Span) -> str:
        """Text of a span."""
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def line_start(self, row: int) -> int:
        """Offset of the first character of a line."""
        return self.starts[row - 1]

    def line_end(self, row: int) -> int:
        """Offset just past the last character of a line, its newline not counted."""
        end = self.starts[row] if row < len(self.starts) else len(self.text)
        start = self.starts[row - 1]
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    def next_line(self, row: int) -> int:
        """Offset at which the following line starts, or the end of the text."""
        return self.starts[row] if row < len(self.starts) else len(self.text)

    def line(self, row: int) -> str:
        """Text of a line without its newline."""
        return self.text[self.line_start(row) : self.line_end(row)]

    def byte_column(self, position: Position) -> int:
        """Column as `ast` counts it: UTF-8 bytes from 0."""
        prefix = self.line(position.row)[: position.column - 1]
        return len(prefix) if prefix.isascii() else len(prefix.encode())

    def offset_of_bytes(self, row: int, column: int) -> int:
        """Offset of a position as `ast` counts it (row from 1, UTF-8 bytes from 0)."""
        line = self.line(row)
        characters = column if line.isascii() else len(line.encode()[:column].decode(errors="ignore"))
        return self.starts[row - 1] + characters


def comments(text: str) -> Counter[str]:
    """Comments in a piece of code that may be a fragment of an expression or whole lines.

    Raises SourceError when the piece cannot be tokenised.
    """
    found: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline):
            if token.type == tokenize.COMMENT:
                found[token.string.rstrip()] += 1
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"the text cannot be tokenised: {error}") from error
    return found
