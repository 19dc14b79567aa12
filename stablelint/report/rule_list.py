"""The list of rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stablelint.report.cells import hung, plain
from stablelint.report.style import Style

if TYPE_CHECKING:
    from stablelint.catalog import Rule


def as_table(rules: Sequence[Rule], style: Style, columns: int) -> str:
    """Code, name and summary; rules that are off by default are dim and say so."""
    longest = max((len(rule.name) for rule in rules), default=0)
    widest = max((len(rule.code) for rule in rules), default=0)
    lines: list[str] = []
    for rule in rules:
        code, name = f"{rule.code:<{widest}}", f"{rule.name:<{longest}}"
        summary = plain(rule.summary) + ("" if rule.enabled else " (off by default)")
        lines += hung(f"{code}  {name}  ", summary, columns, f"{style.gutter(code)}  {style.bold(name)}  ")
    return "\n".join(lines) + "\n" if lines else ""


def as_json(rules: Iterable[Rule]) -> str:
    """An array of objects."""
    items = [
        {"code": rule.code, "name": rule.name, "summary": rule.summary, "enabled": rule.enabled}
        for rule in rules
    ]
    return json.dumps(items, indent=2) + "\n"
