"""Code frames: the lines around a finding, with the finding and the steps that lead to it marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from stablelint.diagnostic import Span
from stablelint.records import dataclass
from stablelint.report.cells import crop, lay_out, plain, width, wrap
from stablelint.report.style import Style

_BEFORE, _AFTER = 2, 1
_LONGEST = 6  # rows of one mark that are shown; the middle of a longer one is left out
_NARROWEST_LABEL = 24

Paint = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline, and what to say about it."""

    span: Span
    label: str
    symbol: str
    paint: Paint


def frame(lines: Sequence[str], marks: Sequence[Mark], style: Style, columns: int) -> Iterator[str]:
    """The frame's rows. The first mark is the finding, with context around it; the others stand alone."""
    rows = _rows(marks, lines)
    if not rows:
        return
    gutter = len(str(rows[-1]))
    bar = style.gutter(f"{'':{gutter}} |")
    margin = _Margin(marks[0])
    room = max(columns - gutter - 3 - margin.width, 30)
    yield bar
    previous = rows[0] - 1
    for row in rows:
        if row > previous + 1:
            yield style.gutter("." * max(gutter, 3)) + margin.beside(row - 1)
        previous = row
        line, cells = laid = lay_out(lines[row - 1].rstrip())
        touching = [mark for mark in marks if mark.span.start.row <= row <= mark.span.end.row]
        shift = _shift(row, line, cells, touching, room)
        shown = crop(line, shift, room)
        yield f"{style.gutter(f'{row:>{gutter}} |')}{margin.beside(row)} {shown}".rstrip()
        for mark in touching:
            if margin.encloses(mark):
                yield from (f"{bar}{text}" for text in margin.close(row, cells, shift, room))
            else:
                below = margin.below(row)
                yield from (f"{bar}{below} {text}" for text in _underline(row, laid, mark, shift, room))
    yield bar


class _Margin:
    """The bracket at the left of a finding that spans several lines; nothing for any other."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark
        self._first, self._last = mark.span.start.row, mark.span.end.row
        self.width = 2 if self._last > self._first else 0

    def encloses(self, mark: Mark) -> bool:
        """Whether `mark` is drawn as the bracket."""
        return bool(self.width) and mark is self._mark

    def beside(self, row: int) -> str:
        """What stands left of a line."""
        if not self.width:
            return ""
        if row == self._first:
            return " " + self._mark.paint("/")
        return " " + self._mark.paint("|") if self._first < row <= self._last else "  "

    def below(self, row: int) -> str:
        """What stands left of the marks below a line."""
        if not self.width:
            return ""
        return " " + self._mark.paint("|") if self._first <= row < self._last else "  "

    def close(self, row: int, cells: Sequence[int], shift: int, room: int) -> Iterator[str]:
        """The lower end of the bracket, which points at the last character."""
        if row != self._last:
            return
        end = cells[min(self._mark.span.end.column - 1, len(cells) - 1)] - shift
        reach = max(1, min(end, room))
        label = plain(self._mark.label)
        paint = self._mark.paint
        arrow = paint("|" + "_" * reach + "^")
        if not label or reach + 2 + width(label) <= room:
            yield f" {arrow} {paint(label)}".rstrip()
        else:
            yield f" {arrow}"
            yield from (" " * 3 + paint(text) for text in wrap(label, room))


def _rows(marks: Sequence[Mark], lines: Sequence[str]) -> list[int]:
    """The rows to show: those of the marks, some around the first, and gaps of a single row."""
    marked: set[int] = set()
    for mark in marks:
        first, last = mark.span.start.row, mark.span.end.row
        if last - first >= _LONGEST:
            marked.update((*range(first, first + _LONGEST - 2), last))
        else:
            marked.update(range(first, last + 1))
    main = marks[0].span
    around = {*range(main.start.row - _BEFORE, main.start.row)}
    around.update(range(main.end.row + 1, main.end.row + 1 + _AFTER))
    rows = marked | around
    rows.update(row + 1 for row in list(rows) if row + 2 in rows)
    shown = sorted(row for row in rows if 1 <= row <= len(lines))
    while shown and shown[0] not in marked and not lines[shown[0] - 1].strip():
        del shown[0]
    while shown and shown[-1] not in marked and not lines[shown[-1] - 1].strip():
        del shown[-1]
    return shown


def _extent(row: int, line: str, cells: Sequence[int], span: Span) -> tuple[int, int]:
    """The cells of `span` on this row: from its start or the indentation to its end or that of the line."""
    indent = len(line) - len(line.lstrip())
    start = cells[min(span.start.column - 1, len(cells) - 1)] if row == span.start.row else indent
    end = cells[min(span.end.column - 1, len(cells) - 1)] if row == span.end.row else cells[-1]
    return start, max(end, start + 1)


def _shift(row: int, line: str, cells: Sequence[int], marks: Sequence[Mark], room: int) -> int:
    """Cells to leave out at the left of a line too long to be shown, so that its first mark is seen."""
    if cells[-1] <= room or not marks:
        return 0
    start, end = _extent(row, line, cells, marks[0].span)
    if end <= room - 1:
        return 0
    return max(0, min(start - 8, cells[-1] - room))


def _underline(row: int, laid: tuple[str, list[int]], mark: Mark, shift: int, room: int) -> Iterator[str]:
    start, end = _extent(row, *laid, mark.span)
    start, end = max(start - shift, 0), min(end - shift, room)
    signs = " " * start + mark.paint(mark.symbol * (end - start))
    label = plain(mark.label) if row == mark.span.end.row else ""
    if end <= start:  # left of what is shown, or right of it
        yield from map(mark.paint, wrap(label, room) if label else ())
    elif not label:
        yield signs
    elif end + 1 + width(label) <= room:
        yield f"{signs} {mark.paint(label)}"
    else:
        yield signs
        indent = min(start, max(room - _NARROWEST_LABEL - 20, 0))
        for text in wrap(label, max(room - indent, _NARROWEST_LABEL)):
            yield " " * indent + mark.paint(text)
