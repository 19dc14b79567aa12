"""Source text: decoding, parsing with `ast`, and positions counted in characters."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import tokenize
import warnings
from collections.abc import Callable

from stablelint.diagnostic import Position, Problem, Span
from stablelint.records import dataclass, field
from stablelint.syntax.newer import tree_of

# What an older Python says of the syntax of a later one, among other things.
_PERHAPS_NEWER = ("invalid syntax", "f-string: ", "multiple exception types")


class SourceError(Exception):
    """A file that cannot be decoded or parsed; carries the problem to report."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def decode(data: bytes, filename: str) -> str:
    """Text of a Python file by its BOM or PEP 263 cookie.

    Raises:
        SourceError: unknown encoding, or bytes that do not belong to it.
    """
    if b"\0" in data:
        before = data.partition(b"\0")[0].split(b"\n")
        place = Position(len(before), len(before[-1]) + 1)
        hint = "a text in UTF-16 holds them, too: save it as UTF-8"
        raise SourceError(Problem("cannot parse: null bytes, as in a binary file", filename, place, hint))
    try:
        return data.decode(encoding_of(data))
    except SyntaxError as error:
        raise SourceError(Problem(f"cannot decode: {error}", filename, Position(1, 1))) from None
    except UnicodeDecodeError as error:
        before = data[: error.start].split(b"\n")
        message = f"cannot decode: byte 0x{data[error.start]:02x} is not {error.encoding}"
        raise SourceError(
            Problem(message, filename, Position(len(before), len(before[-1].decode(error.encoding)) + 1))
        ) from None


def encoding_of(data: bytes) -> str:
    """What a file declares, UTF-8 where it declares nothing. Raises SyntaxError."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        if b"coding" in b"".join(data.splitlines()[:2]):
            raise
        return "utf-8"  # decoding will name the byte


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends, as Python counts them: a form feed ends none."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


@dataclass(slots=True)
class Source:
    """A parsed file."""

    filename: str
    text: str
    tree: ast.Module
    lines: list[str] = field(default_factory=list)

    def span(self, node: ast.AST) -> Span:
        """The place of an expression or statement."""
        end_line = getattr(node, "end_lineno", None) or node.lineno  # type: ignore[attr-defined]
        end_column = getattr(node, "end_col_offset", None) or 0
        start = self._position(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return Span(start, self._position(end_line, end_column))

    def segment(self, node: ast.AST) -> str:
        """The text of an expression or statement."""
        span = self.span(node)
        rows = self.lines[span.start.row - 1 : span.end.row]
        if not rows:
            return ""
        rows = [*rows[:-1], rows[-1][: span.end.column - 1]]
        return "\n".join([rows[0][span.start.column - 1 :], *rows[1:]])

    def _position(self, row: int, byte_offset: int) -> Position:
        line = self.lines[row - 1] if row <= len(self.lines) else ""
        if line.isascii():
            return Position(row, byte_offset + 1)
        return Position(row, len(line.encode("utf-8")[:byte_offset].decode("utf-8", "replace")) + 1)


def syntax_problem(data: bytes, filename: str) -> Problem | None:
    """What keeps a file from being Python, at half the price of parsing it."""
    import symtable

    try:
        text = decode(data, filename)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(text, filename, "exec")
    except SourceError as error:
        return error.problem
    except SyntaxError as error:
        return _unless_newer(text, error, filename)
    except ValueError as error:
        return Problem(f"cannot parse: {error}", filename, Position(1, 1))
    except (RecursionError, MemoryError):
        pass  # too deep for the compiler, and of no concern where nothing is to be found
    return None


def _unless_newer(text: str, error: SyntaxError, filename: str) -> Problem | None:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree_of(text, filename)
        return None
    return _unparsable(error, filename)


def _unparsable(error: SyntaxError, filename: str) -> Problem:
    place = Position(error.lineno or 1, max(1, error.offset or 1))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    hint = (
        f"read as Python {version}, under which stablelint runs; Python 2 and newer syntax are not supported"
    )
    newer = error.msg.startswith(_PERHAPS_NEWER)
    return Problem(f"cannot parse: {error.msg}", filename, place, hint if newer else None)


def parse(data: bytes, filename: str, read: Callable[[str, str], ast.Module] = tree_of) -> Source:
    """Parses a file.

    Raises:
        SourceError: with the place and the reason.
    """
    text = decode(data, filename)
    try:
        tree = read(text, filename)
    except SyntaxError as error:
        raise SourceError(_unparsable(error, filename)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SourceError(Problem(f"cannot parse: {reason}", filename, Position(1, 1))) from None
    lines = lines_of(text)
    if lines and lines[0].startswith("\ufeff"):
        lines[0] = lines[0][1:]
    return Source(filename, text, tree, lines)
