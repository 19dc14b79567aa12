"""What a report on runs consists of: told once, shown in a terminal and on a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from stablelint.records import dataclass
from stablelint.report.cells import lay_out, plain
from stablelint.report.context import Context, Sources
from stablelint.report.page import excerpt, prose, table
from stablelint.report.tables import at, headed, note, placed
from stablelint.report.tables import table as text_table


@dataclass(frozen=True, slots=True)
class Head:
    """What a report is about; `tone` is a method of a style."""

    word: str
    text: str
    tone: str = "error"


@dataclass(frozen=True, slots=True)
class Place:
    """An expression with its code, as JSON has it, and what is said at its mark."""

    place: Mapping[str, Any]
    label: str = ""
    tone: str = "error"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence under a title; a verdict is a word and whether it is a good one. `apart` it begins a new block.

    A page shows what `drawn` makes in its stead.
    """

    title: str
    text: str
    verdict: tuple[str, bool] | None = None
    apart: bool = False
    drawn: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose first row is its head; a page shows what `drawn` makes in its stead. Nothing without rows."""

    rows: Sequence[Sequence[str]]
    drawn: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code, or of a difference."""

    lines: Sequence[str]


Part = Head | Place | Note | Rows | Code


def as_text(parts: Iterable[Part], context: Context) -> Iterator[str]:
    """The lines of a report."""
    style = context.style
    for part in parts:
        match part:
            case Head(word, text, tone):
                yield from headed(word, text, context, style.paint(tone))
            case Place(place, label, tone):
                yield from placed(place, context, style.paint(tone), label)
            case Note(title, text, verdict, apart, _):
                yield from [""] if apart else []
                paint = style.added if verdict and verdict[1] else style.error
                lead = f"{paint(verdict[0])}: " if verdict else ""
                yield from note(title, lead + plain(text), context)
            case Rows(rows, _) if len(rows) > 1:
                yield ""
                yield from text_table(rows, context)
            case Code(lines):
                paints = {"+": style.added, "-": style.removed, "@": style.dim}
                yield from (f"    {paints.get(line[:1], str)(lay_out(line)[0])}" for line in lines)


def as_page(parts: Iterable[Part], sources: Sources) -> Iterator[str]:
    """The same as parts of a page."""
    for part in parts:
        match part:
            case Head(word, text, _):
                yield f"<h2>{escape(word)}: {prose(text)}</h2>"
            case Place(place) if place["filename"] is not None:
                yield f'<p class="place">{escape(at(place, Context(os.getcwd())))}</p>'
                yield excerpt(place, sources)
            case Note(drawn=drawn) | Rows(drawn=drawn) if drawn is not None:
                yield drawn()
            case Note(title, text, verdict, _, _):
                kind = "confirmed" if verdict and verdict[1] else "ineffective"
                badge = f'<span class="badge {kind}">{verdict[0]}</span> ' if verdict else ""
                yield f'<p class="said"><span class="title">{escape(title)}</span> {badge}{prose(text)}</p>'
            case Rows(rows, _) if len(rows) > 1:
                yield table(rows)
            case Code(lines):
                kinds = {"+": "add", "-": "sub"}
                spans = (f'<span class="{kinds.get(line[:1], "")}">{escape(line)}</span>' for line in lines)
                yield "<pre>" + "\n".join(spans) + "</pre>"
