"""The text of an editor: one file, or the code cells of a notebook read as one program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property

from lsprotocol import types
from pygls.workspace import PositionCodec

from stablelint.diagnostic import Edit, Position, Span
from stablelint.records import dataclass
from stablelint.syntax.notebook import without_magic
from stablelint.syntax.source import encoding_of, lines_of


@dataclass(frozen=True)
class Part:
    """A document of the editor, and the row (from 0) of the whole text at which it starts."""

    uri: str
    first: int
    lines: Sequence[str]


@dataclass(frozen=True)
class Text:
    """What is checked as one file named `path`; positions of the editor are in units of `codec`."""

    path: str
    parts: tuple[Part, ...]
    codec: PositionCodec
    version: int | None = None

    @classmethod
    def of_file(cls, path: str, uri: str, text: str, codec: PositionCodec, version: int | None) -> Text:
        """The text of one document."""
        return cls(path, (Part(uri, 0, lines_of(text)),), codec, version)

    @classmethod
    def of_cells(
        cls, path: str, cells: Iterable[tuple[str, str]], codec: PositionCodec, version: int | None
    ) -> Text:
        """The text of a notebook's code cells, each with its URI; what only IPython understands does nothing."""
        parts: list[Part] = []
        row = 0
        for uri, text in cells:
            parts.append(Part(uri, row, lines_of(text)))
            row += len(parts[-1].lines)
        return cls(path, tuple(parts), codec, version)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of all parts, as Python reads them."""
        if not self.is_notebook:
            return list(self.parts[0].lines)
        return [line for part in self.parts for line in without_magic(part.lines)]

    @cached_property
    def data(self) -> bytes:
        """The text as a file would hold it, in the encoding that it declares."""
        data = "\n".join(self.lines).encode("utf-8", "surrogatepass")
        try:
            encoding = encoding_of(data)
            return data if encoding.startswith("utf-8") else data.decode().encode(encoding)
        except (SyntaxError, UnicodeError):
            return data

    @property
    def is_notebook(self) -> bool:
        """Whether it consists of cells."""
        return self.path.endswith(".ipynb")

    def place(self, uri: str, position: types.Position) -> Position:
        """The place in the whole text of a position in one of its documents."""
        part = next(part for part in self.parts if part.uri == uri)
        line = min(position.line, len(part.lines) - 1)
        character = self.codec.position_from_client_units(
            [part.lines[line]], types.Position(0, position.character)
        ).character
        return Position(part.first + line + 1, character + 1)

    def span(self, uri: str, range_: types.Range) -> Span:
        """The span of a range in one of its documents."""
        return Span(self.place(uri, range_.start), self.place(uri, range_.end))

    def range(self, span: Span) -> tuple[str, types.Range]:
        """The document in which a span starts, and its range there."""
        part = next(part for part in reversed(self.parts) if part.first < span.start.row or part.first == 0)
        return part.uri, types.Range(self._position(part, span.start), self._position(part, span.end))

    def text_edits(self, edits: Iterable[Edit]) -> dict[str, list[types.TextEdit]]:
        """Edits of the whole text, by document."""
        changes: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            uri, place = self.range(edit.span)
            changes.setdefault(uri, []).append(types.TextEdit(place, edit.content))
        return changes

    def edits_to(self, after: bytes) -> Iterator[Edit]:
        """What has to be changed, in whole lines, to get `after`."""
        new = lines_of(after.decode(encoding_of(after)))
        for tag, start, end, first, last in SequenceMatcher(
            None, self.lines, new, autojunk=False
        ).get_opcodes():
            if tag == "equal":
                continue
            content = "".join(f"{line}\n" for line in new[first:last])
            if end == len(self.lines):  # the last line has no end to be replaced with it
                above = Position(start, len(self.lines[start - 1]) + 1) if start else Position(1, 1)
                yield Edit(
                    Span(above, Position(end, len(self.lines[end - 1]) + 1)),
                    ("\n" if start and first < last else "") + content[:-1],
                )
            else:
                yield Edit(Span(Position(start + 1, 1), Position(end + 1, 1)), content)

    def _position(self, part: Part, place: Position) -> types.Position:
        line = place.row - 1 - part.first
        if line >= len(part.lines):  # past the end of the cell
            line, column = len(part.lines) - 1, len(part.lines[-1])
        else:
            column = min(place.column - 1, len(part.lines[line]))
        units = self.codec.position_to_client_units([part.lines[line]], types.Position(0, column)).character
        return types.Position(line, units)
