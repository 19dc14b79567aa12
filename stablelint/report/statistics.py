"""Findings counted by rule."""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.diagnostic import Diagnostic
from stablelint.report.context import Context, fix_marker


def statistics(found: Iterable[Diagnostic], output_format: str, context: Context) -> str:
    """The most frequent rule first: an array of objects for `json`, else a line a rule."""
    rows = _rows(found)
    return _as_json(rows) if output_format == "json" else _as_table(rows, context)


def _as_json(rows: list[tuple[int, Diagnostic]]) -> str:
    import json

    items = [
        {"code": item.code, "name": item.name, "count": count, "fixable": item.fix is not None}
        for count, item in rows
    ]
    return json.dumps(items, indent=2) + "\n"


def _as_table(rows: list[tuple[int, Diagnostic]], context: Context) -> str:
    style = context.style
    widest = max(len(f"{count:,}") for count, _ in rows)
    longest = max(len(item.code) for _, item in rows)
    lines = []
    for count, item in rows:
        number = style.bold(f"{count:>{widest},}")
        lines.append(f"{number}  {item.code:<{longest}}  {fix_marker(item) or '   '}  {item.name}")
    legend = {"[*]": "`stablelint fix` has a rewrite", "[-]": "`stablelint fix --unsafe-fixes` has one"}
    marks = {fix_marker(item) for _, item in rows}
    if context.summary:
        lines += [style.dim(f"{mark}: {means}") for mark, means in legend.items() if mark in marks]
    return "\n".join(lines) + "\n"


def _rows(found: Iterable[Diagnostic]) -> list[tuple[int, Diagnostic]]:
    """Findings counted by rule, each with one of them, preferably one that has a fix."""
    by_code: dict[str, list[Diagnostic]] = {}
    for item in found:
        by_code.setdefault(item.code, []).append(item)
    rows = [(len(items), min(items, key=lambda item: item.fix is None)) for items in by_code.values()]
    return sorted(rows, key=lambda row: (-row[0], row[1].code))
