"""An audit for people: a table of the checks, then each that failed or warned with its evidence and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from stablelint.report.cells import hung, plain
from stablelint.report.context import Context
from stablelint.report.tables import headed, note, placed

MARKS = {"passed": "✓", "warned": "!", "failed": "✗", "not seen": "·"}
_ORDER = ("failed", "warned", "passed", "not seen")


def render(audit: Mapping[str, Any], context: Context, everything: bool = False) -> str:
    """The report; checks that passed or saw nothing are counted, and listed with `everything`."""
    return "\n".join(_lines(audit, context, everything)) + "\n"


def _lines(audit: Mapping[str, Any], context: Context, everything: bool) -> Iterator[str]:
    for status in ("failed", "warned"):
        for one in audit["checks"]:
            if one["status"] == status:
                yield from _finding(one, context)
                yield ""
    yield from _table(audit["checks"], context, everything)
    yield context.style.bold(counted(audit))


def counted(audit: Mapping[str, Any]) -> str:
    """How many checks ended how, with the signs that stand for it."""
    counts = ", ".join(f"{MARKS[status]} {audit['counts'][status]} {status}" for status in _ORDER)
    return f"{counts}; {audit['steps']} optimizer steps were watched"


def _finding(one: Mapping[str, Any], context: Context) -> Iterator[str]:
    style = context.style
    paint = style.error if one["status"] == "failed" else style.warning
    head = f"{one['status']}[{one['check']}]"
    yield from headed(head, one["evidence"], context, paint)
    yield from placed(one, context, paint)
    yield from note("expected", one["sentence"], context)
    if one["subjects"]:
        yield from note("names", ", ".join(map(plain, one["subjects"][:8])), context)
    if one["remedy"]:
        yield from note("remedy", plain(one["remedy"]), context)


def _table(checks: list[Mapping[str, Any]], context: Context, everything: bool) -> Iterator[str]:
    style = context.style
    paints = {"passed": style.added, "warned": style.warning, "failed": style.error, "not seen": style.dim}
    for family, members in groupby(checks, key=lambda one: one["family"]):
        found = list(members)
        marks = "".join(paints[one["status"]](MARKS[one["status"]]) for one in found)
        yield f"{style.bold(family):<{13 + len(style.bold(family)) - len(family)}} {marks}"
        for one in found if everything else ():
            name = f"  {MARKS[one['status']]} {one['check']:<30} "
            yield from hung(name, plain(one["evidence"]), context.width, paints[one["status"]](name))
    yield ""
