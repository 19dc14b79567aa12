"""Findings counted by rule."""

from __future__ import annotations

from collections import Counter
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
    lines += [
        style.dim(f"{mark}: {means}") for mark, means in legend.items() if mark in marks and context.summary
    ]
    return "\n".join(lines) + "\n"


def _rows(found: Iterable[Diagnostic]) -> list[tuple[int, Diagnostic]]:
    """Findings counted by rule, each with one of them, preferably one that has a fix."""
    counts: Counter[str] = Counter()
    examples: dict[str, Diagnostic] = {}
    for item in found:
        counts[item.code] += 1
        if item.code not in examples or (examples[item.code].fix is None and item.fix is not None):
            examples[item.code] = item
    ordered = sorted(counts, key=lambda code: (-counts[code], code))
    return [(counts[code], examples[code]) for code in ordered]
