"""The rules: their list, and the page of one on a terminal."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stablelint.report.cells import hung, plain
from stablelint.report.style import Style

if TYPE_CHECKING:
    from stablelint.catalog import Rule

_TOML = re.compile(r"^```toml\n.*?^```\n", re.DOTALL | re.MULTILINE)


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


def render(rule: Rule, columns: int, colour: bool) -> str:
    """The page laid out by rich. The block that only the program reads gives way to a short list."""
    from rich.console import Console
    from rich.markdown import Markdown

    text = _TOML.sub(_facts(rule).replace("\\", r"\\"), rule.text, count=1)
    text = re.sub(r"\A# .*\n", "", text)
    text = re.sub(r"^```python fixed$", "Fixed:\n\n```python", text, flags=re.MULTILINE)
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=min(columns, 100),
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
    )
    console.print(f"[bold]{rule.code} {rule.name}[/bold]", highlight=False)
    console.print()
    console.print(Markdown(text, code_theme="ansi_dark"))
    return stream.getvalue()


def _facts(rule: Rule) -> str:
    facts = [f"- severity: {rule.severity}"]
    if not rule.enabled:
        facts.append("- off by default: `--extend-select " + rule.code + "`")
    if rule.forward or rule.backward:
        facts.append("- in " + ", ".join(f"`{pattern}`" for pattern in rule.patterns))
    if rule.forward:
        facts.append(f"- the value needs: `{rule.forward}`")
    if rule.backward:
        facts.append(f"- the gradient needs: `{rule.backward}`")
    facts += dict.fromkeys(f"- fix ({fix.applicability}): {fix.message}" for fix in rule.fixes)
    return "\n".join(facts) + "\n"
