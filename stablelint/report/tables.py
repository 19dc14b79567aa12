"""Tables, notes, places and numbers of the reports about runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stablelint.diagnostic import Position, Span
from stablelint.report.cells import hung, plain
from stablelint.report.context import Context
from stablelint.report.frame import Mark, Paint, frame
from stablelint.runtime.plain import shape_text


def note(title: str, text: str, context: Context, indent: str = " ") -> Iterator[str]:
    """`= title: text`, broken between words."""
    style = context.style
    lead = f"{indent} = {title}: "
    yield from hung(lead, text, context.width, f"{indent} {style.gutter('=')} {style.bold(title)}: ")


def headed(head: str, text: str, context: Context, paint: Paint) -> Iterator[str]:
    """`head: text`, broken between words."""
    yield from hung(f"{head}: ", plain(text), context.width, f"{paint(head)}: ", paint=context.style.bold)


def placed(one: Mapping[str, Any], context: Context, paint: Paint, label: str = "") -> Iterator[str]:
    """Where something is: file and row, and the expression underlined, or its line where no columns are known."""
    if one["filename"] is None:
        return
    row, lines = one["location"]["row"], context.sources.lines(one["filename"])
    indent = " " * len(str(min(row + 1, len(lines) or 1)))
    yield f"{indent}{context.style.gutter('-->')} {at(one, context)}"
    start, end = one["location"], one["end_location"]
    if start["column"] and end and lines:
        span = Span(Position(row, start["column"]), Position(end["row"], end["column"]))
        yield from frame(lines, [Mark(span, label, "^", paint)], context.style, context.width)
    elif one["expression"]:
        yield f"{indent} {context.style.gutter('|')} {plain(one['expression'])}"


def at(one: Mapping[str, Any], context: Context) -> str:
    """File, or cell of a notebook, row and column of a place."""
    row, column = one["location"]["row"], one["location"]["column"]
    return f"{one.get('cell') or context.shown(one['filename'])}:{row}" + (f":{column}" if column else "")


def table(rows: Sequence[Sequence[str]], context: Context) -> Iterator[str]:
    """Columns aligned, the first to the left; the first row is the head."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "    " + "  ".join(cells).rstrip()
        yield context.style.dim(line) if number == 0 else line


_BLOCKS = "▁▂▃▄▅▆▇█"


def short(value: object) -> str:
    """A number in four digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def listed(head: str, items: Iterable[Mapping[str, Any]], columns: str) -> list[tuple[str, ...]]:
    """Rows of a table on what has a `name`: its `columns`, which are keys or `heading=key`; the first row is the head."""
    keys = [column.rpartition("=") for column in columns.split(", ")]
    rows = [(head, *(heading or key for heading, _, key in keys))]
    for item in items:
        rows.append((item["name"], *(_cell(item.get(key)) for _, _, key in keys)))
    return rows


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return shape_text(value)
    return str(value) if isinstance(value, int) else short(value)


def spark(values: Sequence[float]) -> str:
    """The course of positive numbers on a logarithmic scale, at most 16 cells."""
    known = [math.log10(value) for value in values if math.isfinite(value) and value > 0][-16:]
    if not known:
        return ""
    low, high = min(known), max(known)
    reach = (high - low) or 1.0
    return "".join(_BLOCKS[int((value - low) / reach * (len(_BLOCKS) - 1))] for value in known)
