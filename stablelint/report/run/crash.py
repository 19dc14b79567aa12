"""An explained error for people: the expression, its operands, where they came from, the layers, what to do."""

from __future__ import annotations

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
    yield from (Note("help", text) for text in crash["advice"])
    for what, other in crash["other"]:
        yield Note(what, f"{at(other, context)}: {other['expression']}")
    yield from (Note("because", text) for text in crash["because"])
    yield from _operands(crash["operands"], context)
    yield Rows([("layer", "input", "output"), *crash["layers"]])


def _operands(operands: list[Mapping[str, Any]], context: Context) -> Iterator[Part]:
    rows = [("operand", "shape", "dtype", "device")]
    for one in operands:
        rows.append((plain(one["name"]), str(tuple(one["shape"])), one["dtype"], one["device"]))
    yield Rows(rows)
    told: set[str] = set()
    for one in operands:
        for what, place in (("comes from", one["made_at"]), ("is made here", one["source"])):
            where = f"{at(place, context)}: {place['expression']}" if place else ""
            if where and where not in told:
                yield Note(f"{plain(one['name'])} {what}", where)
                told.add(where)
