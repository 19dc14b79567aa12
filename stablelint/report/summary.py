"""The closing lines of a report, what was proved safe, and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from stablelint.diagnostic import Applicability, Diagnostic, Problem, Severity, Status
from stablelint.report.cells import plain
from stablelint.report.context import Context

if TYPE_CHECKING:
    from stablelint.workspace.pipeline import CheckResult


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,024 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def summary_lines(result: CheckResult, context: Context) -> Iterator[str]:
    """What was found, what can be done about it, and what was left out."""
    style = context.style
    scope = f"in {plural(result.files, 'file')}"
    proved = sum(result.discharge_counts.values())
    safe = f"; {plural(proved, 'operation')} proved safe" if proved else ""
    if result.assumed:
        safe += f"; {result.assumed:,} safe as long as settings keep their values"
    if result.diagnostics:
        found = style.bold("Found " + _by_level(result))
        yield f"{found} {scope}{safe}.{_fixable(result.shown)}"
    elif result.files:
        yield f"{style.bold('No findings')} {scope}{safe}."
    left_out = []
    if result.silenced:
        left_out.append(f"{result.silenced:,} silenced by comments")
    if result.baselined:
        left_out.append(f"{result.baselined:,} in the baseline")
    if result.unsure:
        left_out.append(f"{result.unsure:,} of less confidence than asked for")
    if left_out:
        yield style.dim("Not shown: " + ", ".join(left_out) + ".")


def _by_level(result: CheckResult) -> str:
    """`2 errors and 1 warning`, and how many findings besides are less likely to matter."""
    rest = plural(len(result.rest), "possible finding") if result.rest else ""
    if not result.shown:
        return f"nothing likely and {rest}"
    return _by_severity(result.shown) + (f", and {rest}" if rest else "")


def _by_severity(found: Iterable[Diagnostic]) -> str:
    counts = Counter(item.severity for item in found)
    parts = [plural(counts[kind], kind.value) for kind in (Severity.ERROR, Severity.WARNING) if counts[kind]]
    return " and ".join(parts)


def _fixable(found: Iterable[Diagnostic]) -> str:
    counts = Counter(item.fix.applicability for item in found if item.fix is not None)
    safe, unsafe = counts[Applicability.SAFE], counts[Applicability.UNSAFE]
    if safe and unsafe:
        return f" {safe:,} fixable with `stablelint fix`, {unsafe:,} more with `--unsafe-fixes`."
    if safe:
        return f" {safe:,} fixable with `stablelint fix`."
    return f" {unsafe:,} fixable with `stablelint fix --unsafe-fixes`." if unsafe else ""


def discharged_lines(result: CheckResult, context: Context) -> Iterator[str]:
    """What was proved safe, and how."""
    style = context.style
    assumed = sum(item.status is Status.ASSUMED for item in result.discharged)
    yield style.bold(f"Proved safe: {plural(len(result.discharged) - assumed, 'operation')}")
    if assumed:
        yield style.bold(f"Safe as long as settings keep their values: {plural(assumed, 'operation')}")
    for item in result.discharged:
        start = item.span.start
        place = f"{context.shown(item.filename)}:{start.row}:{start.column}"
        reason = f" by {item.discharged_by}" if item.discharged_by else ""
        if item.assumes:
            reason += f" if {', '.join(item.assumes)}"
        yield f"  {place}: {item.code} `{plain(item.expression)}`{style.added(reason)}"


def problem_lines(problem: Problem, context: Context) -> Iterator[str]:
    """A problem with its place and, on a second line, what may help."""
    style = context.style
    place = ""
    if problem.filename:
        place = context.shown(problem.filename)
        if problem.position is not None:
            place += f":{problem.position.row}:{problem.position.column}"
        place += ": "
    yield f"{style.error('error')}: {style.bold(place)}{plain(problem.message)}"
    if problem.hint:
        yield f"  {style.gutter('=')} {style.bold('help')}: {plain(problem.hint)}"
