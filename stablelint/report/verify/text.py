"""A verification for a person at a terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from stablelint.report.cells import one_line, wrap
from stablelint.report.context import Context
from stablelint.report.parts import Code, Head, Note, Part, Place, Rows, as_text
from stablelint.runtime.plain import plural
from stablelint.runtime.verify.outcome import OperandShown, Report, Rerun, SiteReport
from stablelint.runtime.verify.site import Kind, Verdict

MEANING = {
    Verdict.CONFIRMED: "fails on operands of this command; the fix cures it",
    Verdict.REACHABLE: "a search found inputs that fail; the fix cures them",
    Verdict.HANDLED: "goes wrong, and the function deals with it: nothing to fix",
    Verdict.LATENT: "only boundary operands fail; the fix cures them",
    Verdict.INEFFECTIVE: "the fix still fails",
    Verdict.DIVERGES: "the fix changes healthy values",
    Verdict.NOT_REPRODUCED: "nothing that was tried fails",
    Verdict.NOT_REACHED: "the command never came here",
}


_FAILS = {
    "accuracy": "loses most digits on {where}",
    "wrong": "gives another value than the one that is meant, on {where}",
    "refused": "raises an error on {where}",
}
_WHERE = {
    Verdict.CONFIRMED: "operands of this command",
    Verdict.REACHABLE: "inputs that a search found",
    Verdict.LATENT: "boundary operands alone",
}

_MADE = {
    **dict.fromkeys(("made", "varied"), "a call that was made for it"),
    "part": "the statements that make it, called by themselves",
}


def meaning(report: SiteReport) -> str:
    """What the verdict says of this very site: how it fails, and what a fix has to do with it."""
    site, verdict = report.site, report.verdict
    if verdict is Verdict.NOT_REPRODUCED and report.witness is not None:
        return "the original fails; its fix cannot be replayed by itself"
    if verdict is Verdict.NOT_REPRODUCED and not report.cases and not report.known:
        alone = site.kind is not Kind.SEQUENCE
        return "it could not be evaluated outside its program" if alone else "nothing can be replayed"
    if report.guilty:
        return "the command is worse with this fix"
    if (
        verdict is Verdict.INEFFECTIVE
        and report.witness is not None
        and report.witness.fixed_failed == "error"
    ):
        return "the fix raises an error"
    if verdict is Verdict.NOT_REPRODUCED and report.calls:
        return "healthy: nothing that was tried fails"
    if verdict not in _WHERE:
        return MEANING[verdict]
    if site.kind is Kind.SEQUENCE and report.witness is None and not report.known:
        return "the command fails without the fix and not with it"
    failed = report.witness.failed if report.witness is not None else None
    where = _MADE.get(report.witness.origin if report.witness is not None else "", _WHERE[verdict])
    fails = _FAILS.get(failed or "", "fails on {where}").format(where=where)
    return f"{fails}; {'the fix cures it' if site.has_fix else 'no fix is proposed'}"


def render(report: Report, context: Context) -> str:
    """All sites, the rerun, and a closing line."""
    unreached = [site for site in report.sites if site.verdict is Verdict.NOT_REACHED]
    told = [_site(site) for site in report.sites if site.verdict is not Verdict.NOT_REACHED]
    told += [_unreached(unreached, context)] if unreached else []
    blocks = ["\n".join(as_text(parts, context)) for parts in told]
    if report.rerun is not None:
        blocks.append("\n".join(as_text(rerun_parts(report, report.rerun, context), context)))
    return "\n\n".join([*blocks, "\n".join(_closing(report, context))]) + "\n"


def _tone(verdict: Verdict) -> str:
    """The method of a style that a verdict is painted by."""
    if verdict.refuses:
        return "error"
    if verdict is Verdict.LATENT:
        return "warning"
    return "added" if verdict.passing else "dim"


def _site(report: SiteReport) -> Iterator[Part]:
    site = report.site
    head = f"{report.verdict} ({meaning(report)})"
    yield Head(f"{site.code} {site.name}", head, _tone(report.verdict))
    start = site.span.start.as_json()
    yield Place({"filename": site.filename, "location": start, "end_location": None, "expression": ""})
    yield from site_parts(report)


def _unreached(reports: Sequence[SiteReport], context: Context) -> Iterator[Part]:
    """The sites of which nothing was seen, a line each."""
    yield Head(Verdict.NOT_REACHED, MEANING[Verdict.NOT_REACHED], "dim")
    places = ((report.site, report.site.span.start) for report in reports)
    yield Code([f"{context.shown(s.filename)}:{at.row}:{at.column}: {s.code} {s.name}" for s, at in places])


def site_parts(report: SiteReport, drawn: Callable[[], str] | None = None) -> Iterator[Part]:
    """What was seen of a site; a page shows what `drawn` makes as well."""
    site, witness = report.site, report.witness
    sides = (("-", site.original), ("+", site.fixed or ""))
    lines = [(sign, line) for sign, text in sides for line in text.splitlines()]
    yield Code([f"{sign} {line}" if site.fixed is not None else line for sign, line in lines])
    yield Rows((), drawn)
    healthy = report.function.healthy_line if report.function is not None else None
    line = witness.line if witness is not None else None
    if line or healthy:
        yield Code([line or f"{healthy}  # finite"])  # a line to paste: it is not broken
    if witness is not None:
        yield Note(f"on {witness.label}", _operands(witness.operands))
        yield Note("original", witness.original)
        if witness.fixed is not None:
            yield Note("fixed", witness.fixed)
    if report.calls:
        yield Note("seen", f"{plural(report.calls, 'call')}{extents_text(report)}")
    yield from (Note("note", text) for text in report.notes)


def _operands(operands: tuple[OperandShown, ...]) -> str:
    shown = []
    for operand in operands[:4]:
        values = f" [{_values(operand, operand.shape)}]" if operand.shape is not None else ""
        shown.append(f"{one_line(operand.name)} = {operand.text}{values}")
    return "; ".join(shown) + (" …" if len(operands) > 4 else "")


def _values(operand: OperandShown, shape: tuple[int, ...]) -> str:
    """The values of a tensor; of a large one the smallest, behind a gap the largest."""
    texts = [f"{value:.3g}" for value in operand.values]
    if math.prod(shape) > len(texts):
        texts.insert(len(texts) // 2, "…")
    return ", ".join(texts)


def extents_text(report: SiteReport) -> str:
    """Ranges of the captured operands, behind a colon."""
    parts = []
    for name, extent in list(report.extents.items())[:3]:
        low, high, zeros = extent.get("min"), extent.get("max"), extent.get("zeros")
        if low is None or high is None:
            continue
        text = f"{one_line(name)} in [{low:.3g}, {high:.3g}]"
        parts.append(text + (f", {zeros:,.0f} zeros" if zeros else ""))
    return ": " + "; ".join(parts) if parts else ""


def rerun_parts(
    report: Report, rerun: Rerun, context: Context, drawn: Callable[[], str] | None = None
) -> Iterator[Part]:
    """What the command says of the fixes; a page shows what `drawn` makes as well."""
    tone = {True: "added", False: "error", None: "dim"}[rerun.passed]
    yield Head(f"rerun with {plural(rerun.fixes, 'fix')}", f"{rerun.verdict}, {rerun.claim}", tone)
    yield Rows((), drawn)
    if rerun.after is not None:
        before, after = rerun.before, rerun.after
        times = f"{before.seconds:.1f} s and {after.seconds:.1f} s"
        yield Note("exit status", f"{before.status} before, {after.status} after; {times}")
    for site in report.sites:
        if site.guilty:
            place = f"{context.shown(site.site.filename)}:{site.site.span.start.row}"
            yield Note("guilty", f"the fix of {site.site.code} at {place}")


def _closing(report: Report, context: Context) -> Iterator[str]:
    counts = Counter(site.verdict for site in report.sites)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    total = len(report.sites)
    if not total:
        read = f" in {plural(report.files, 'file')}"
        ran = "; the command was run and watched" if report.command else ""
        yield f"Nothing to verify: no findings{read}{ran}."
        return
    if counts[Verdict.NOT_REACHED] == total:
        yield f"Verified nothing: none of {plural(total, 'site')} was reached."
    else:
        yield f"Verified {plural(total, 'site')}: {shown}."
    if not report.command:
        called = sum(_is_called(site) for site in report.sites)
        text = (
            f"No command was run; calls that were made up reached {called} of {plural(total, 'site')}. "
            "`-- COMMAND` takes the values of your own run."
        )
        yield from map(context.style.dim, wrap(text, context.width))
    if report.overhead is not None:
        yield context.style.dim(f"Probes took {report.overhead:.1%} of the command's time.")


def _is_called(report: SiteReport) -> bool:
    """Whether a call of the function around the site shows how it does."""
    seen = report.function
    return seen is not None and (seen.line or seen.healthy_line) is not None
