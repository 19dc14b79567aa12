"""Code frames: the lines around a finding, with the finding and the steps that lead to it marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stablelint.diagnostic import Span
from stablelint.report.cells import lay_out, plain, width, wrap
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
    rows = _rows(marks, len(lines))
    if not rows:
        return
    gutter = len(str(rows[-1]))
    bar = style.gutter(f"{'':{gutter}} |")
    room = max(columns - gutter - 3, 30)
    yield bar
    previous = rows[0] - 1
    for row in rows:
        if row > previous + 1:
            yield style.gutter(f"{'':>{gutter}} ⋮" if style.enabled else "." * max(gutter, 3))
        previous = row
        line, cells = lay_out(lines[row - 1].rstrip())
        touching = [mark for mark in marks if mark.span.start.row <= row <= mark.span.end.row]
        shift = _shift(row, line, cells, touching, room)
        yield f"{style.gutter(f'{row:>{gutter}} |')} {_window(line, shift, room)}".rstrip()
        for mark in touching:
            yield from (f"{bar} {text}" for text in _underline(row, line, cells, mark, shift, room))
    yield bar


def _rows(marks: Sequence[Mark], count: int) -> list[int]:
    if not marks:
        return []
    rows: set[int] = set()
    for mark in marks:
        first, last = mark.span.start.row, mark.span.end.row
        if last - first >= _LONGEST:
            rows.update((*range(first, first + _LONGEST - 2), last))
        else:
            rows.update(range(first, last + 1))
    main = marks[0].span
    rows.update(range(main.start.row - _BEFORE, main.start.row))
    rows.update(range(main.end.row + 1, main.end.row + 1 + _AFTER))
    for row in sorted(rows):
        if row + 2 in rows:  # a gap of one line is wider than the line
            rows.add(row + 1)
    return sorted(row for row in rows if 1 <= row <= count)


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
    return max(0, min(start - 8, cells[-1] - room + 1))


def _window(line: str, shift: int, room: int) -> str:
    if shift == 0 and width(line) <= room:
        return line
    shown = "…" + line[shift + 1 :] if shift else line
    return shown if width(shown) <= room else shown[: room - 1] + "…"


def _underline(row: int, line: str, cells: Sequence[int], mark: Mark, shift: int, room: int) -> Iterator[str]:
    start, end = _extent(row, line, cells, mark.span)
    start, end = max(start - shift, 0), min(end - shift, room)
    if end <= start:
        return
    signs = " " * start + mark.paint(mark.symbol * (end - start))
    label = plain(mark.label) if row == mark.span.end.row else ""
    if not label:
        yield signs
    elif end + 1 + width(label) <= room:
        yield f"{signs} {mark.paint(label)}"
    else:
        yield signs
        indent = min(start, max(room - _NARROWEST_LABEL - 20, 0))
        for text in wrap(label, max(room - indent, _NARROWEST_LABEL)):
            yield " " * indent + mark.paint(text)
