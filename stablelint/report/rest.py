"""Findings of little confidence, a line each: nothing risky is hidden, and nothing drowns what is likely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablelint.diagnostic import RULE, Diagnostic
from stablelint.report.cells import crop, one_line, plain, width
from stablelint.report.context import Context

SHOWN = 20  # lines on a terminal
_REASONS = 4  # that one finding tells


def rest_lines(rest: Sequence[Diagnostic], context: Context) -> Iterator[str]:
    """A title, then by file, the file of the most likely finding first, one line a finding."""
    style = context.style
    shown = rest[:SHOWN] if context.terminal else rest
    yield style.bold("Not guarded, less likely to matter:")
    by_file: dict[str, list[Diagnostic]] = {}
    for item in shown:
        by_file.setdefault(item.filename, []).append(item)
    places = [f"{item.span.start.row}:{item.span.start.column}" for item in shown]
    widest = max(map(len, places))
    for filename, items in by_file.items():
        yield f"  {context.shown(filename)}"
        for item in items:
            yield _line(item, widest, context)
    if len(rest) > len(shown):
        yield style.dim(f"  … {len(rest) - len(shown):,} more: `--level possible`")


def _line(item: Diagnostic, widest: int, context: Context) -> str:
    place = f"{item.span.start.row}:{item.span.start.column}"
    lead = f"    {place:<{widest}}  {item.code}  {share(item.confidence):>4}  "
    text = plain(one_line(item.expression))
    room = max(context.width - len(lead) - 2, 20)
    tail = f"  {_seen(item) or item.name}"
    if width(text) + len(tail) > room:
        text = crop(text, 0, max(room - len(tail), 20))
    return lead + text + context.style.dim(tail)


def share(confidence: float) -> str:
    """`13%`; what would round to nothing is `<1%`, for a finding is never known to be worth nothing."""
    return "<1%" if confidence < 0.005 else f"{confidence:.0%}"


def _seen(item: Diagnostic) -> str:
    """What a run, or a call that was made for it, has shown of a finding."""
    return next((r.sentence for r in item.because if r.fact.startswith(("seen_", "called_failing"))), "")


def confidence_line(item: Diagnostic) -> str:
    """`72%; for: counts what a test finds; against: stands in a test`: the heaviest facts behind a confidence."""
    weighing = [reason for reason in item.because if reason.weight][:_REASONS]
    known = [reason.sentence for reason in weighing if reason.fact == RULE]
    facts = [reason for reason in weighing if reason.fact != RULE]
    raising = ", ".join(reason.sentence for reason in facts if reason.weight > 0)
    lowering = ", ".join(reason.sentence for reason in facts if reason.weight < 0)
    sides = [f"{side}: {said}" for side, said in (("for", raising), ("against", lowering)) if said]
    return "; ".join([share(item.confidence), *known, *sides])
