"""Workflow commands that GitHub shows as annotations on a change."""

from __future__ import annotations

from stablelint.diagnostic import Level
from stablelint.report.context import Context
from stablelint.workspace.result import CheckResult


def render(result: CheckResult, context: Context) -> str:
    """One command a finding. A column is given only where the finding ends on the line it starts on."""
    lines = []
    for item in result.diagnostics:
        start, end = item.span.start, item.span.end
        path = context.path_in_repository(item.filename)
        properties = {"title": f"stablelint ({item.code})", "file": path, "line": start.row}
        if start.row == end.row:
            properties |= {"col": start.column, "endLine": end.row, "endColumn": end.column}
        else:
            properties |= {"endLine": end.row}
        joined = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        message = f"{path}:{start.row}:{start.column}: {item.code} {item.message}"
        command = item.severity.value if item.level is Level.LIKELY else "notice"
        lines.append(f"::{command} {joined}::{_data(message)}")
    return "\n".join(lines) + "\n" if lines else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
