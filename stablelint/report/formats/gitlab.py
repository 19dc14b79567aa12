"""GitLab's code quality report."""

from __future__ import annotations

import json

from stablelint.diagnostic import Diagnostic, Level, Severity
from stablelint.report.context import Context
from stablelint.workspace.baseline import marked
from stablelint.workspace.result import CheckResult


def render(result: CheckResult, context: Context) -> str:
    """An array of issues, whose fingerprints stay the same when lines move."""
    items = []
    for item, fingerprint in marked(result.diagnostics, context.folder):
        start, end = item.span.start, item.span.end
        items.append(
            {
                "description": f"{item.code}: {item.message}",
                "check_name": item.name,
                "fingerprint": fingerprint,
                "severity": _severity(item),
                "location": {
                    "path": context.path_in_repository(item.filename),
                    "positions": {
                        "begin": {"line": start.row, "column": start.column},
                        "end": {"line": end.row, "column": end.column},
                    },
                },
            }
        )
    return json.dumps(items, indent=2) + "\n"


def _severity(item: Diagnostic) -> str:
    if item.level is not Level.LIKELY:
        return "info"
    return "major" if item.severity is Severity.ERROR else "minor"
