"""Findings of little confidence, a line each: nothing risky is hidden, and nothing drowns what is likely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.diagnostic import LIKELY_FROM, RULE, Diagnostic
from stablelint.report.cells import crop, hung, one_line, plain, width
from stablelint.report.context import Context

SHOWN = 20  # expressions on a terminal
_REASONS = 4  # that one finding tells


def rest_lines(rest: Sequence[Diagnostic], context: Context) -> Iterator[str]:
    """A title, then by file, the file of the most likely finding first, one line for findings in equal expressions."""
    style = context.style
    groups = _alike(rest)
    shown = groups[:SHOWN] if context.terminal else groups
    yield style.bold(f"Possible findings, below {LIKELY_FROM:.0%}:")
    by_file: dict[str, list[list[Diagnostic]]] = {}
    for group in shown:
        by_file.setdefault(group[0].filename, []).append(group)
    widest = max(len(_position(first)) for first, *_ in shown)
    for filename, in_file in by_file.items():
        yield f"  {context.shown(filename)}"
        for first, *others in in_file:
            lead = f"    {_position(first):<{widest}}  {first.code}  "
            tail = f"  {_seen(first) or first.name}"
            also = f"also at {', '.join(_places(first, others, context))}" if others else ""
            room = context.width - width(lead + one_line(first.expression) + tail + also) - 8
            yield _line(first, lead, context, f"{tail}, {also}" if also and room >= 0 else tail)
            if also and room < 0:
                yield from hung(" " * (width(lead) + 6), also, context.width, paint=style.dim)
    if len(groups) > len(shown):
        yield style.dim(f"  … {sum(map(len, groups[len(shown) :])):,} more: `--level possible`")


def _alike(rest: Sequence[Diagnostic]) -> list[list[Diagnostic]]:
    """By their first, the findings of one rule in the same expression, of which a run has seen the same."""
    groups: dict[tuple[str, ...], list[Diagnostic]] = {}
    for item in rest:
        groups.setdefault((item.code, "".join(item.expression.split()), _seen(item)), []).append(item)
    return list(groups.values())


def _places(first: Diagnostic, others: Sequence[Diagnostic], context: Context) -> Iterator[str]:
    """Where the others stand, with their confidence where it is another."""
    for item in others:
        place = _position(item)
        if item.filename != first.filename:
            place = context.place(item.filename, item.span.start)
        sure = share(item.confidence)
        yield place if sure == share(first.confidence) else f"{place} ({sure})"


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
    """`13%`, rounded down, so that what is below a threshold is never shown as having reached it; `<1%` for the least."""
    return f"{round(1e4 * confidence) // 100}%" if confidence >= 0.01 else "<1%"


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
