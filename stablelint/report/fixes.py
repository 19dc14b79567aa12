"""What `stablelint fix` shows: a diff with the reason of each hunk, and a summary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from stablelint.diagnostic import Applicability, Diagnostic
from stablelint.report.cells import hung, lay_out, plain
from stablelint.report.context import Context
from stablelint.report.style import Style
from stablelint.runtime.plain import plural
from stablelint.syntax.content import NOTEBOOK
from stablelint.syntax.source import lines_of
from stablelint.workspace.fixing import FileFix
from stablelint.workspace.notebooks import hunk_in_cell

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def diff(item: FileFix, context: Context) -> bytes:
    """The change of a file as a plain unified diff, in the file's own encoding."""
    from stablelint.codemod.text.diff import patch

    return patch(item.before, item.after, _named(item, context))


def _named(item: FileFix, context: Context) -> str:
    return context.path(item.filename).lstrip("/")


def explained(item: FileFix, context: Context) -> Iterator[str]:
    """The diff of a file, each hunk under the findings that it removes, and behind them the imports that go with them."""
    from stablelint.codemod.text.diff import unified_diff

    style = context.style
    lines = lines_of(unified_diff(item.before, item.after, _named(item, context), context=1))
    yield style.bold(context.shown(item.filename))
    for finding in item.joint:
        yield from _reason(finding, context, item.filename)
    hunks = _hunks(lines)
    reasons = _assign(item.applied, [rows for rows, _ in hunks])
    for number, (rows, body) in sorted(enumerate(hunks), key=lambda one: one[0] not in reasons):
        for finding in reasons.get(number, ()):
            yield from _reason(finding, context)
        if reasons and number not in reasons:
            yield "  and with that:"
        if item.filename.endswith(NOTEBOOK):
            body = hunk_in_cell(item.filename, item.before, rows.start, body)
        for line in body:
            yield _painted(line, context)


def _hunks(lines: Sequence[str]) -> list[tuple[range, list[str]]]:
    hunks: list[tuple[range, list[str]]] = []
    for line in lines:
        if found := _HUNK.match(line):
            start, count = int(found[1]), int(found[2] or 1)
            hunks.append((range(start, start + count), [line]))
        elif hunks and line:
            hunks[-1][1].append(line)
    return hunks


def _assign(applied: Sequence[Diagnostic], hunks: Sequence[range]) -> dict[int, list[Diagnostic]]:
    """Each finding with the hunk it stands in, else the nearest: later rounds have moved some."""
    assigned: dict[int, list[Diagnostic]] = {}
    for finding in applied:
        row = finding.span.start.row
        if hunks:
            away = [0 if row in rows else min(abs(row - rows.start), abs(row - rows.stop)) for rows in hunks]
            nearest = away.index(min(away))
            assigned.setdefault(nearest, []).append(finding)
    return assigned


def _reason(finding: Diagnostic, context: Context, changed: str | None = None) -> Iterator[str]:
    """A finding and its fix, with the place where it is of another file than the one that is `changed`."""
    style = context.style
    trust = finding.fix.applicability if finding.fix is not None else Applicability.SAFE
    loud = style.added if trust is Applicability.SAFE else style.warning
    away = changed not in (None, finding.filename)
    place = f" ({context.shown(finding.filename)}:{finding.span.start.row})" if away else ""
    painted = f"{style.error(finding.code)} {style.bold(finding.name)}{place}"
    said = [(f"{finding.code} {finding.name}{place}", painted, finding.message)]
    if finding.fix is not None:
        said.append((f"{trust} fix", loud(f"{trust} fix"), finding.fix.message))
        if finding.fix.caution:
            said.append(("unsafe here", style.warning("unsafe here"), finding.fix.caution))
    for title, shown, text in said:
        yield from hung(f"  {title}: ", plain(text), context.width, f"  {shown}: ", indent=4)


def _painted(line: str, context: Context) -> str:
    style = context.style
    text = line[:1] + lay_out(line[1:])[0]
    if line.startswith("@@"):
        return style.gutter(text)
    if line.startswith("+"):
        return style.added(text)
    return style.removed(text) if line.startswith("-") else text


def summary(
    fixes: Sequence[FileFix],
    known: int,
    written: bool,
    context: Context,
    *,
    writable: bool = True,
    verified: bool = False,
) -> Iterator[str]:
    """What was fixed, what was withheld and why, what is left for the user, and how many were `known` before.

    `writable` tells that there are files for `--apply` to write, `verified` that only proved fixes were asked for.
    """
    style = context.style
    changed = [item for item in fixes if item.before != item.after]
    kept = {_name(finding) for item in fixes for finding in item.withheld}
    left = [finding for item in fixes for finding in item.left if _name(finding) not in kept]
    made = (item.fix for item in left)
    ways = Counter(None if fix is None or fix.is_choice else fix.applicability for fix in made)
    unsafe = ways[Applicability.UNSAFE]
    yield from _made(changed, bool(unsafe) and not verified, written, writable, style)
    yield from _withheld(fixes, context)
    if offered := unsafe + ways[Applicability.SAFE] if verified else unsafe:
        more = "more " if changed else ""
        verb = "has" if offered == 1 else "have"
        which = (
            "no run has proved: `stablelint verify`" if verified else "can change values: `--unsafe-fixes`"
        )
        yield f"{plural(offered, f'{more}finding')} {verb} a rewrite that {which}."
    shown = (
        (
            ways[Applicability.DISPLAY],
            "a rewrite that nothing shows to be needed: `stablelint check` shows it",
        ),
        (ways[None], "no rewrite: `stablelint check` shows what is wrong"),
    )
    for count, what in shown:
        if count:
            yield f"{plural(count, 'finding')} {'has' if count == 1 else 'have'} {what}."
    if known:
        yield style.dim(f"Not touched: {known:,} in the baseline (`--no-baseline`).")


def _made(
    changed: Sequence[FileFix], unsafe: bool, written: bool, writable: bool, style: Style
) -> Iterator[str]:
    """How many findings the changes mend, by rule; or that there are none, of those that were asked for."""
    fixed = [finding for item in changed for finding in item.applied]
    for finding in (one for item in changed for one in item.joint):
        fixed += [] if finding in fixed else [finding]
    by_rule = Counter(finding.code for finding in fixed)
    count = by_rule.total()
    if not count:
        yield style.bold("Nothing to fix safely." if unsafe else "Nothing to fix.")
        return
    advice = "" if written or not writable else f" `--apply` writes {'it' if count == 1 else 'them'}."
    rules = ", ".join(f"{number} {code}" for code, number in sorted(by_rule.items()))
    head = style.bold(f"{'Fixed' if written else 'Would fix'} {plural(count, 'finding')}")
    uncovered = sum(item.uncovered for item in changed)
    behind = f", {uncovered:,} of them behind another" if uncovered else ""
    yield f"{head} in {plural(len(changed), 'file')} ({rules}){behind}.{advice}"


def _name(finding: Diagnostic) -> tuple[str, str, str]:
    return finding.filename, finding.code, finding.expression


def _withheld(fixes: Sequence[FileFix], context: Context) -> Iterator[str]:
    withheld = [finding for item in fixes for finding in item.withheld]
    if withheld:
        yield context.style.bold(f"Withheld {plural(len(withheld), 'fix')}:")
    for finding in withheld:
        lead = f"  {context.place(finding.filename, finding.span.start)}: "
        text = f"{finding.code}: {plain(finding.fix_withheld or '')}"
        yield from hung(lead, text, context.width, indent=4)
