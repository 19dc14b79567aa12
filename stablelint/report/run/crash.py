"""An explained error for people: the expression, its operands, where they came from, the layers, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stablelint.report.cells import plain
from stablelint.report.context import Context
from stablelint.report.tables import at, headed, note, placed, table


def render(crash: Mapping[str, Any], context: Context) -> str:
    """The explanation; it follows the program's own traceback."""
    return "\n".join(_lines(crash, context)) + "\n"


def _lines(crash: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield ""
    yield from headed(f"{crash['error']}[{crash['kind']}]", crash["summary"], context, context.style.error)
    yield from placed(crash, context, context.style.error)
    for what, other in crash["other"]:
        yield from note(what, f"{at(other, context)}: {plain(other['expression'])}", context)
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
            text = made["expression"]
            if text in told:
                continue
            told.add(text)
            yield from note(
                f"{plain(one['name'])} comes from", f"{at(made, context)}: {plain(text)}", context
            )
        elif one["origin"]:
            yield from note(f"{plain(one['name'])} is", one["origin"], context)
