"""How text occupies the cells of a terminal: tabs, wide and combining characters, control codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from unicodedata import category

TAB = 4
_NARROWEST = 30  # cells for text beside what leads it
_HUNG = 6
_BROKEN = re.compile(r"(?<=[(\[{])\s*\n\s*|\s*\n\s*(?=[)\]}])")


def width(text: str) -> int:
    """Cells that `text` takes on one line."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def lay_out(line: str) -> tuple[str, list[int]]:
    """`line` as it can be shown, and the cell at which each of its characters starts.

    The list has one more item: the cell behind the last character. Tabs become spaces; control codes, which
    could move the cursor or change colours, become question marks.
    """
    if line.isascii() and line.isprintable():
        return line, list(range(len(line) + 1))
    shown: list[str] = []
    cells = [0]
    cell = 0
    for character in line:
        if character == "\t":
            step = TAB - cell % TAB
            shown.append(" " * step)
        elif category(character) in ("Cc", "Cs", "Co"):
            step = 1
            shown.append("?")
        else:
            step = width(character)
            shown.append(character)
        cell += step
        cells.append(cell)
    return "".join(shown), cells


def crop(text: str, shift: int, room: int) -> str:
    """At most `room` cells of `text` from the cell `shift` on, with ellipses for what is left out."""
    if shift == 0 and width(text) <= room:
        return text
    begin = shift + 1 if shift else 0
    limit = shift + room if width(text) <= shift + room else shift + room - 1
    if text.isascii():  # each character takes one cell
        return ("…" if shift else "") + text[begin:limit] + ("…" if len(text) > limit else "")
    shown = []
    cell = 0
    for character in text:
        if cell > limit:
            break
        if begin <= cell and cell + width(character) <= limit:
            shown.append(character)
        cell += width(character)
    return ("…" if shift else "") + "".join(shown) + ("…" if cell > limit else "")


def one_line(text: str) -> str:
    """`text` on one line. Code that was broken within its brackets has no space left there."""
    return " ".join(_BROKEN.sub("", text).split())


def plain(text: str) -> str:
    """`text` on one line and without control codes."""
    return lay_out(one_line(text))[0]


def wrap(text: str, columns: int, taken: int = 0) -> list[str]:
    """`text` broken between words into lines of at most `columns` cells, `taken` of the first, where words allow it."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        if current and width(current) + 1 + width(word) > columns - (0 if lines else taken):
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current] if current or not lines else lines


def hung(
    lead: str,
    text: str,
    columns: int,
    shown: str = "",
    *,
    paint: Callable[[str], str] = str,
    indent: int | None = None,
) -> Iterator[str]:
    """`lead`, as it is `shown`, with `text` behind it; what does not fit stands below the text, or at `indent`.

    On a narrow terminal, where that would make a column of single words, the lines below begin at the left.
    """
    if indent is None:
        indent = width(lead) if columns - width(lead) >= _NARROWEST else min(width(lead), _HUNG)
    first, *rest = wrap(text, columns - indent, width(lead) - indent)
    yield (shown or lead) + paint(first)
    yield from (" " * indent + paint(line) for line in rest)
