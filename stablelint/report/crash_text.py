"""An explained error for people: the expression, its operands, where they came from, the layers, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stablelint.diagnostic import Position, Span
from stablelint.report.cells import plain, wrap
from stablelint.report.context import Context
from stablelint.report.frame import Mark, frame
from stablelint.report.tables import note, table


def render(crash: Mapping[str, Any], context: Context) -> str:
    """The explanation; it follows the program's own traceback."""
    return "\n".join(_lines(crash, context)) + "\n"


def _lines(crash: Mapping[str, Any], context: Context) -> Iterator[str]:
    style = context.style
    head = f"{crash['error']}[{crash['kind']}]"
    first, *rest = wrap(plain(crash["summary"]), max(context.width - len(head) - 2, 30))
    yield ""
    yield f"{style.error(head)}: {style.bold(first)}"
    yield from (" " * (len(head) + 2) + style.bold(text) for text in rest)
    yield from _place(crash, context)
    for other in crash["other"]:
        yield from note(other["what"], f"{_at(other, context)}: {plain(other['expression'])}", context)
    for text in crash["because"]:
        yield from note("because", plain(text), context)
    yield from _operands(crash["operands"], context)
    if crash["layers"]:
        yield ""
        yield from table([("layer", "input", "output"), *crash["layers"]], context)
    if crash["advice"]:
        yield ""
    for text in crash["advice"]:
        yield from note("help", plain(text), context)


def _place(crash: Mapping[str, Any], context: Context) -> Iterator[str]:
    if crash["filename"] is None:
        return
    lines = context.sources.lines(crash["filename"])
    indent = " " * len(str(min(crash["location"]["row"] + 1, len(lines) or 1)))
    yield f"{indent}{context.style.gutter('-->')} {_at(crash, context)}"
    start, end = crash["location"], crash["end_location"]
    if start["column"] and end and lines:
        span = Span(Position(start["row"], start["column"]), Position(end["row"], end["column"]))
        yield from frame(lines, [Mark(span, "", "^", context.style.error)], context.style, context.width)


def _at(place: Mapping[str, Any], context: Context) -> str:
    row, column = place["location"]["row"], place["location"]["column"]
    return f"{context.shown(place['filename'])}:{row}" + (f":{column}" if column else "")


def _operands(operands: list[Mapping[str, Any]], context: Context) -> Iterator[str]:
    if not operands:
        return
    rows = [("operand", "shape", "dtype", "device")]
    for one in operands:
        rows.append((plain(one["name"]), str(tuple(one["shape"])), one["dtype"], one["device"]))
    yield ""
    yield from table(rows, context)
    told: set[str] = set()
    for one in operands:
        made = one["made_at"]
        if made is not None:
            if made["text"] in told:
                continue
            told.add(made["text"])
            place = f"{context.shown(made['filename'])}:{made['row']}"
            yield from note(f"{plain(one['name'])} comes from", f"{place}: {plain(made['text'])}", context)
        elif one["origin"]:
            yield from note(f"{plain(one['name'])} is", one["origin"], context)
