"""One line a finding, as editors and grep like it."""

from __future__ import annotations

from stablelint.diagnostic import Level
from stablelint.report.cells import plain
from stablelint.report.context import Context, fix_marker
from stablelint.report.rest import share
from stablelint.report.summary import discharged_lines, summary_lines
from stablelint.workspace.result import CheckResult


def render(result: CheckResult, context: Context) -> str:
    """`path:row:column: code message`, with the confidence of what is not likely, then the summary."""
    style = context.style
    lines = []
    for item in result.diagnostics:
        start = item.span.start
        mark = fix_marker(item)
        place = f"{style.bold(context.shown(item.filename))}:{start.row}:{start.column}:"
        possible = "" if item.level is Level.LIKELY else style.dim(f"(possible, {share(item.confidence)})")
        words = [place, style.error(item.code), possible, style.cause(mark), plain(item.message)]
        lines.append(" ".join(word for word in words if word))
    if result.discharged:
        lines += discharged_lines(result, context)
    if context.summary:
        lines += summary_lines(result, context)
    return "\n".join(lines) + "\n" if lines else ""
