"""Findings of little confidence, a line each: nothing risky is hidden, and nothing drowns what is likely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.diagnostic import RULE, Diagnostic
from stablelint.report.cells import crop, one_line, plain, width
from stablelint.report.context import Context

SHOWN = 20  # lines on a terminal
_REASONS = 4  # that one finding tells


def rest_lines(rest: Sequence[Diagnostic], context: Context) -> Iterator[str]:
    """A title, then by file, the file of the most likely finding first, one line a finding."""
    style = context.style
    shown = rest[:SHOWN] if context.terminal else rest
    yield style.bold("Possible findings, less likely to matter:")
    by_file: dict[str, list[Diagnostic]] = {}
    for item in shown:
        by_file.setdefault(item.filename, []).append(item)
    widest = max(len(_position(item)) for item in shown)
    for filename, items in by_file.items():
        yield f"  {context.shown(filename)}"
        for item in items:
            lead = f"    {_position(item):<{widest}}  {item.code}  "
            yield _line(item, lead, context, f"  {_seen(item) or item.name}")
    if len(rest) > len(shown):
        yield style.dim(f"  … {len(rest) - len(shown):,} more: `--level possible`")


def place_lines(items: Sequence[Diagnostic], context: Context, indent: int) -> Iterator[str]:
    """Where findings stand, with their confidence and expression; each line is to stand behind `indent` cells."""
    places = [context.place(item.filename, item.span.start) for item in items]
    widest = max(map(width, places))
    narrower = replace(context, width=context.width - indent)
    for item, place in zip(items, places, strict=True):
        yield _line(item, place + " " * (widest - width(place) + 2), narrower)


def _position(item: Diagnostic) -> str:
    return f"{item.span.start.row}:{item.span.start.column}"


def _line(item: Diagnostic, lead: str, context: Context, tail: str = "") -> str:
    lead += f"{share(item.confidence):>4}  "
    text = plain(one_line(item.expression))
    room = max(context.width - width(lead) - 2, 20)
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
