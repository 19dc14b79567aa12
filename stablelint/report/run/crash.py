"""An explained error for people: the expression, its operands, where they came from, the layers, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stablelint.report.cells import plain
from stablelint.report.context import Context
from stablelint.report.parts import Head, Note, Part, Place, Rows, as_text
from stablelint.report.tables import at


def render(crash: Mapping[str, Any], context: Context) -> str:
    """The explanation; it follows the program's own traceback."""
    return "\n".join(["", *as_text(_parts(crash, context), context)]) + "\n"


def _parts(crash: Mapping[str, Any], context: Context) -> Iterator[Part]:
    yield Head(f"{crash['error']}[{crash['kind']}]", crash["summary"])
    yield Place(crash)
    yield from (Note("help", _with_line(text, crash)) for text in crash["advice"])
    for what, other in crash["other"]:
        yield Note(what, f"{at(other, context)}: {other['expression']}")
    yield from (Note("because", text) for text in crash["because"])
    yield from _operands(crash, context)
    yield Rows([("layer", "input", "output"), *crash["layers"]])


def _with_line(text: str, crash: Mapping[str, Any]) -> str:
    """Advice that is code with its line: where none is told, it is that of the failing expression."""
    elsewhere = "…" in text or re.search(" lines? ", text) or not crash["location"]
    return (
        text
        if elsewhere
        else re.sub(r"(?= pass(es)?\b)", f" in line {crash['location']['row']}", text, count=1)
    )


def _operands(crash: Mapping[str, Any], context: Context) -> Iterator[Part]:
    """The operands, and where they came from as far as that is not told of a part of it."""
    operands, known = crash["operands"], [place for _, place in crash["other"]]
    rows = [("operand", "shape", "dtype", "device")]
    for one in operands:
        rows.append((plain(one["name"]), str(tuple(one["shape"])), one["dtype"], one["device"]))
    yield Rows(rows)
    told: set[str] = set()
    for one in operands:
        for what, place in (("comes from", one["made_at"]), ("is made here", one["source"])):
            where = f"{at(place, context)}: {place['expression']}" if place else ""
            if where and where not in told and not any(_is_within(other, place) for other in known):
                yield Note(f"{plain(one['subject'] or one['name'])} {what}", where)
                told.add(where)


def _is_within(part: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Whether a place is another one, or a part of it."""
    (start, end), (first, last) = (
        [
            (each["row"], each["column"] or 0) if each else (0, 0)
            for each in (one["location"], one["end_location"])
        ]
        for one in (part, whole)
    )
    return bool(part["filename"] == whole["filename"] and first <= start and end <= last)
