"""Tables and notes of the reports about runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablelint.report.cells import wrap
from stablelint.report.context import Context


def note(title: str, text: str, context: Context) -> Iterator[str]:
    """`= title: text`, broken between words."""
    style = context.style
    lead = f"  = {title}: "
    first, *rest = wrap(text, max(context.width - len(lead), 30)) or [""]
    yield f"  {style.gutter('=')} {style.bold(title)}: {first}"
    yield from (" " * len(lead) + line for line in rest)


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
