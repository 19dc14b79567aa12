"""The closing lines of a report, what was proved safe, problems, and findings counted by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from stablelint.diagnostic import Applicability, Diagnostic, Level, Problem, Status
from stablelint.report.cells import hung, plain, wrap
from stablelint.report.context import Context, fix_marker
from stablelint.report.tables import note
from stablelint.runtime.plain import plural
from stablelint.workspace.notebooks import cell_of
from stablelint.workspace.result import CheckResult


def summary_lines(result: CheckResult, context: Context) -> Iterator[str]:
    """What was found, what was proved safe, what was left out, and what to do next."""
    style = context.style
    took = f" in {context.seconds:.1f} s" if context.seconds is not None else ""
    scope = f"in {plural(result.files, 'file')}{took}."
    if result.diagnostics:
        yield f"{style.bold('Found ' + _by_level(result))} {scope}"
    elif result.files:
        yield f"{style.bold('No findings')} {scope}"
    if safe := "; ".join(_safe(result)):
        listed = "." if result.discharged else "; `--show-discharged` lists them."
        yield from wrap(f"{safe}{listed}", context.width)
    if left_out := ", ".join(_left_out(result)):
        yield from map(style.dim, wrap(f"Not shown: {left_out}.", context.width))
    for at, step in enumerate(_next_steps(result, context)):
        yield from hung("      " if at else "Next: ", f"{step}.", context.width)


def _safe(result: CheckResult) -> Iterator[str]:
    if proved := sum(result.discharge_counts.values()):
        yield f"Proved safe: {plural(proved, 'operation')}"
    if result.assumed:
        lead = "safe" if proved else "Safe"
        yield f"{lead} under an assumption: {plural(result.assumed, 'operation')}"


def _left_out(result: CheckResult) -> Iterator[str]:
    if result.silenced:
        yield f"{result.silenced:,} silenced by comments"
    if result.baselined:
        yield f"{result.baselined:,} in the baseline (`--no-baseline`)"
    if result.unsure:
        yield f"{result.unsure:,} below the minimum confidence (`--min-confidence 0`)"
    unread = {cell_of(problem.filename)[0] for problem in result.problems if problem.filename}
    if unread and result.files:
        yield f"{plural(len(unread), 'path')} with an error"


def _next_steps(result: CheckResult, context: Context) -> Iterator[str]:
    """The rewrites on offer, and for a person who reads along the command that tries the findings."""
    counts = Counter(item.fix.applicability for item in result.shown if item.fix is not None)
    safe, unsafe = counts[Applicability.SAFE], counts[Applicability.UNSAFE]
    if safe:
        more = f", {unsafe:,} more with `--unsafe-fixes`" if unsafe else ""
        yield f"`stablelint fix` shows {plural(safe, 'rewrite')}{more}"
    elif unsafe:
        yield f"`stablelint fix --unsafe-fixes` shows {plural(unsafe, 'rewrite')}"
    if result.shown:
        yield f"`stablelint rule {result.shown[0].code}` says why it matters"
    if context.terminal and result.diagnostics:
        yield "`stablelint verify -- pytest` runs the tests and says which findings they meet"


def _by_level(result: CheckResult) -> str:
    """`2 likely and 3 possible findings`; a level without findings is left out."""
    counts = Counter(item.level for item in result.diagnostics)
    *levels, last = [level for level in Level if counts[level]]
    return " and ".join(
        [*(f"{counts[level]:,} {level}" for level in levels), plural(counts[last], f"{last} finding")]
    )


def discharged_lines(result: CheckResult, context: Context) -> Iterator[str]:
    """What was proved safe, and how."""
    style = context.style
    assumed = sum(item.status is Status.ASSUMED for item in result.discharged)
    yield style.bold(f"Proved safe: {plural(len(result.discharged) - assumed, 'operation')}")
    if assumed:
        yield style.bold(f"Safe under an assumption: {plural(assumed, 'operation')}")
    for item in result.discharged:
        place = context.place(item.filename, item.span.start)
        reason = f" by {item.discharged_by}" if item.discharged_by else ""
        if item.assumes:
            reason += f" if {', '.join(item.assumes)}"
        yield f"  {place}: {item.code} `{plain(item.expression)}`{style.added(reason)}"


def problem_lines(problem: Problem, context: Context) -> Iterator[str]:
    """A problem with its place and, on a second line, what may help."""
    style = context.style
    place = f"{context.place(problem.filename, problem.position)}: " if problem.filename else ""
    yield f"{style.error('error')}: {style.bold(place)}{plain(problem.message)}"
    if problem.hint:
        yield from note("help", plain(problem.hint), context)


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
