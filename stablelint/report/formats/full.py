"""For people: message, code frame with the chain, the proposed rewrite."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from stablelint.diagnostic import Applicability, Diagnostic, Fix, Severity
from stablelint.report.cells import crop, hung, lay_out, plain
from stablelint.report.context import Context, rewritten
from stablelint.report.frame import Mark, Paint, frame
from stablelint.report.rest import confidence_line, place_lines, rest_lines
from stablelint.report.summary import discharged_lines, summary_lines
from stablelint.report.tables import note
from stablelint.runtime.plain import plural
from stablelint.workspace.result import CheckResult

_WRITTEN = 400  # characters of the longest line that a person writes


def render(result: CheckResult, context: Context) -> str:
    """All findings, what was proved safe if that was asked for, and the summary."""
    blocks = ["\n".join(finding(first, context, same)) for first, *same in _grouped(result.shown)]
    if result.rest:
        blocks.append("\n".join(rest_lines(result.rest, context)))
    if result.discharged:
        blocks.append("\n".join(discharged_lines(result, context)))
    if context.summary and (summary := "\n".join(summary_lines(result, context))):
        blocks.append(summary)
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _grouped(items: Iterable[Diagnostic]) -> Iterable[list[Diagnostic]]:
    """The findings of which the same is to be said, by the first of them."""
    groups: dict[Hashable, list[Diagnostic]] = {}
    for item in items:
        steps = tuple(step.text for step in item.derivation)
        fix = item.fix and (item.fix.applicability, item.fix.message, item.fix.caution)
        said = (item.code, item.message, steps, item.assumes, fix, item.fix_withheld)
        groups.setdefault(said, []).append(item)
    return groups.values()


def finding(item: Diagnostic, context: Context, same: Sequence[Diagnostic] = ()) -> Iterator[str]:
    """One finding, line by line, and the places of those of which the `same` is to be said."""
    loud = _loud(item, context)
    lead = f"{item.code} {item.name}: "
    text, paint = plain(item.message), context.style.bold
    yield from hung(lead, text, context.width, loud(lead), paint=paint, indent=len(item.code) + 1)
    lines = context.sources.lines(item.filename)
    marks = list(_marks(item, context))
    last = max(mark.span.end.row for mark in marks)
    indent = " " * len(str(min(last + 1, len(lines) or 1)))
    yield f"{indent}{context.style.gutter('-->')} {context.place(item.filename, item.span.start)}"
    yield from frame(lines, marks, context.style, context.width)
    for step in item.derivation:
        if step.filename not in (None, item.filename):
            place = f"{context.shown(step.filename or '')}:{step.span.start.row}"
            yield from note("because", f"{plain(step.text)} ({place})", context, indent)
    if item.assumes:
        yield from note("assumes", ", ".join(item.assumes), context, indent)
    if item.fix is not None:
        yield from _rewrite(indent, item, item.fix, context)
    elif item.fix_withheld:
        yield from note("no fix", plain(item.fix_withheld), context, indent)
    if item.confidence < 1:
        yield from note("confidence", confidence_line(item), context, indent)
    if same:
        yield from note("same", f"at {plural(len(same), 'more place')}", context, indent)
        yield from (f"{indent}   {line}" for line in place_lines(same, context, len(indent) + 3))


def _loud(item: Diagnostic, context: Context) -> Paint:
    return context.style.error if item.severity is Severity.ERROR else context.style.warning


def _marks(item: Diagnostic, context: Context) -> Iterator[Mark]:
    """The finding first; a last step that speaks of the finding itself becomes its label."""
    steps = [step for step in item.derivation if step.filename in (None, item.filename)]
    label = ""
    if steps and steps[-1].span == item.span:
        label = steps.pop().text
    yield Mark(item.span, label, "^", _loud(item, context))
    for number, step in enumerate(steps, 1):
        text = f"{number}. {step.text}" if len(steps) > 1 else step.text
        yield Mark(step.span, text, "-", context.style.cause)


def _rewrite(indent: str, item: Diagnostic, fix: Fix, context: Context) -> Iterator[str]:
    style = context.style
    yield from note(f"fix ({fix.applicability.value})", plain(fix.message), context, indent)
    if fix.caution:
        label = "only shown" if fix.applicability is Applicability.DISPLAY else "unsafe here"
        yield from note(label, plain(fix.caution), context, indent)
    bar = style.gutter(f"{indent} |")
    hunks = [
        (path, *hunk)
        for path, edits in fix.by_file(item.filename).items()
        for hunk in rewritten(context.sources.lines(path), edits)
    ]
    if not hunks:
        return
    yield bar
    shown = item.filename
    changed = min((edit.span.start.column for edit in fix.edits), default=1)
    for path, row, before, after in hunks:
        if path != shown:
            yield f"{indent}{style.gutter('-->')} {context.shown(path)}:{row}"
            shown = path
        for sign, paint, written in (("-", style.removed, before), ("+", style.added, after)):
            for offset, line in enumerate(written, row):
                text = _in_sight(lay_out(line)[0], changed, context)
                yield f"{style.gutter(f'{offset:>{len(indent)}}')} {paint(f'{sign} {text}')}"
    yield bar


def _in_sight(line: str, changed: int, context: Context) -> str:
    """A line of a rewrite; of one that no person has written, what stands around the column that is `changed`."""
    if len(line) <= _WRITTEN:
        return line
    return crop(line, max(changed - context.width // 4, 0), context.width - 8)
