"""Puts rule pages to the test: their examples through the engine, their numbers through torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import Catalog, Rule
from stablelint.catalog.page import Example
from stablelint.codemod.propose import propose_all
from stablelint.codemod.text.edits import apply_edits
from stablelint.diagnostic import Diagnostic, Level
from stablelint.records import dataclass
from stablelint.syntax.relevance import is_checked


@dataclass(frozen=True, slots=True)
class Test:
    """One claim of a page, and the line of the page that makes it. `run` returns what breaks it, or None."""

    title: str
    line: int
    run: Callable[[], str | None]


def tests_of(rule: Rule, catalog: Catalog) -> Iterator[Test]:
    """The tests of a page; those of its numbers only where torch is installed."""
    for example in rule.examples:
        place = f"the example at line {example.line}"
        yield Test(place, example.line, partial(_is_reported_as_marked, rule, example, catalog))
        if example.fixed is not None:
            yield Test(
                f"the fix of {place}", example.line, partial(_is_fixed_as_shown, rule, example, catalog)
            )
            yield Test(f"the fixed form of {place}", example.line, partial(_is_fixed, rule, example, catalog))
    if has_torch():
        from stablelint.runtime.rules.laws import laws

        for law in laws(rule):
            yield Test(law.title, _line_of(rule.text, law.about, law.fix or 0), law.check)


def has_torch() -> bool:
    """Whether the numbers of a page can be tried."""
    return find_spec("torch") is not None


def _found(code: str, rule: Rule, catalog: Catalog) -> list[Diagnostic]:
    """What a user sees by default, and what the rule says at any level. Raises ValueError for no Python."""
    report = check_source(code.encode(), "example.py", catalog, AnalysisOptions())
    if report.problems:
        raise ValueError(report.problems[0].message)
    return [item for item in report.diagnostics if item.code == rule.code or _is_shown(item, catalog)]


def _is_shown(item: Diagnostic, catalog: Catalog) -> bool:
    return item.level is Level.LIKELY and catalog.rules[item.code].enabled


def _is_reported_as_marked(rule: Rule, example: Example, catalog: Catalog) -> str | None:
    try:
        found = {(item.span.start.row, item.code) for item in _found(example.code, rule, catalog)}
    except ValueError as error:
        return str(error)
    marked = {(marker.line, rule.code) for marker in example.markers}
    unread = "" if is_checked(example.code.encode()) else ": it does not import torch, so it is not read"
    missing = [
        f"line {example.line + row - 1} is marked, and not reported{unread}"
        for row, _ in sorted(marked - found)
    ]
    extra = [
        f"line {example.line + row - 1} is reported as {code}, and not marked"
        + ("" if code == rule.code else ": mend the example, or name the rule in `replaces`")
        for row, code in sorted(found - marked)
    ]
    return "; ".join(missing + extra) or None


def _is_fixed_as_shown(rule: Rule, example: Example, catalog: Catalog) -> str | None:
    source = example.code.encode()
    found = propose_all(
        source, [item for item in _found(example.code, rule, catalog) if item.code == rule.code]
    )
    withheld = next((item.fix_withheld for item in found if item.fix is None and item.fix_withheld), None)
    edits = [edit for item in found if item.fix is not None for edit in item.fix.edits]
    if not edits:
        return f"no fix is made: {withheld}" if withheld else "no fix is made"
    written = _without_comments(apply_edits(source, edits).decode())
    wanted = _without_comments(example.fixed or "")
    if written == wanted:
        return None
    sides = {"the fix writes": (written, wanted), "where the page shows": (wanted, written)}
    return "\n".join(
        line
        for title, (lines, others) in sides.items()
        for line in (title, *(f"      {line}" for line in lines if line not in others))
    )


def _is_fixed(rule: Rule, example: Example, catalog: Catalog) -> str | None:
    found = [item for item in _found(example.fixed or "", rule, catalog) if item.code == rule.code]
    return f"line {found[0].span.start.row} of it is still reported" if found else None


def _without_comments(code: str) -> list[str]:
    return [line.split("  # error")[0].rstrip() for line in code.splitlines()]


def _line_of(text: str, about: str, place: int) -> int:
    """The line of the page at which a table begins: its `place`-th, from 0."""
    header = re.compile(rf"\[+\s*{re.escape(about)}\s*\]+\s*$")
    rows = [row for row, line in enumerate(text.split("\n"), 1) if header.match(line)]
    return rows[min(place, len(rows) - 1)] if rows else 1
