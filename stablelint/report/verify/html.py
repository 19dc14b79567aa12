"""One self-contained page on a verification: code, verdicts, plots, witnesses, the rerun."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from stablelint.report.context import Context
from stablelint.report.page import page, prose
from stablelint.report.verify import plots
from stablelint.report.verify.text import MEANING, extents_text, meaning, number_text
from stablelint.runtime.plain import plural
from stablelint.runtime.verify.outcome import Report, SiteReport, WitnessShown
from stablelint.runtime.verify.site import Verdict

_OPEN = 8  # sites that are unfolded from the start


def render(report: Report) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    script = files("stablelint.report").joinpath("verify.js").read_text(encoding="utf-8")
    parts = [*_head(report), *_rerun(report), *_sites(report)]
    return page("verify", parts, script=f"\n<script>\n{script}</script>")


def _head(report: Report) -> Iterator[str]:
    counts = Counter(site.verdict for site in report.sites)
    yield "<header>"
    if report.command:
        yield f'<p class="command"><code>{escape(" ".join(report.command))}</code></p>'
    else:
        yield "<p>No command was run: the functions around the sites were called.</p>"
    sites = plural(len(report.sites), "site")
    yield f'<p class="chips"><button class="chip" data-verdict="">{sites}</button>'
    for verdict in Verdict:
        if counts[verdict]:
            yield (
                f'<button class="chip {verdict}" data-verdict="{verdict}" title="{escape(MEANING[verdict])}">'
                f"{counts[verdict]} {verdict}</button>"
            )
    yield "</p>"
    for problem in report.problems:
        yield f'<p class="problem">{escape(problem)}</p>'
    if report.overhead is not None:
        yield f'<p class="aside">Probes took {report.overhead:.1%} of the command\'s time.</p>'
    yield "</header>"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _rerun(report: Report) -> Iterator[str]:
    rerun = report.rerun
    if rerun is None or rerun.after is None:
        return
    kind = {True: "confirmed", False: "ineffective", None: "not-reached"}[rerun.passed]
    badge = f'<span class="badge {kind}">{rerun.verdict}</span>'
    yield f'<section class="rerun"><h2>Rerun with {plural(rerun.fixes, "fix")} {badge}</h2>'
    yield f"<p>{escape(_sentence(rerun.claim))}</p>"
    before, after = rerun.before, rerun.after
    if before.losses or after.losses:
        yield f"<figure>{plots.losses(before.losses, after.losses)}</figure>"
    yield (
        f'<p class="aside">Exit status {before.status} before, {after.status} after; '
        f"{before.seconds:.1f} s and {after.seconds:.1f} s.</p>"
    )
    for site in report.sites:
        if site.guilty:
            where = f"{site.site.code} at {Context(os.getcwd()).path(site.site.filename)}:{site.site.span.start.row}"
            yield f'<p class="problem">The command is worse with the fix of {escape(where)}.</p>'
    yield "</section>"


def _sites(report: Report) -> Iterator[str]:
    unfolded = len(report.sites) <= _OPEN
    order = {verdict: index for index, verdict in enumerate(Verdict)}
    for index, site in enumerate(sorted(report.sites, key=lambda item: order[item.verdict])):
        yield "\n".join(_site(site, unfolded or index < _OPEN // 2))


def _site(report: SiteReport, unfolded: bool) -> Iterator[str]:
    site = report.site
    place = f"{Context(os.getcwd()).path(site.filename)}:{site.span.start.row}:{site.span.start.column}"
    yield f'<details class="site" data-verdict="{report.verdict}"{" open" if unfolded else ""}>'
    yield (
        f'<summary><span class="badge {report.verdict}">{report.verdict}</span> '
        f'<b>{escape(site.code)}</b> <span class="name">{escape(site.name)}</span> '
        f'<span class="place" title="{escape(place)}">{escape(place)}</span></summary>'
    )
    yield f'<p class="meaning">{prose(site.message)}<br><i>{escape(_sentence(meaning(report)))}</i></p>'
    after = _diff("+", "ins", site.fixed) if site.fixed is not None else ""
    yield f'<pre class="diff">{_diff("-", "del", site.original)}{after}</pre>'
    if report.curve is not None:
        yield f"<figure>{plots.accuracy(report.curve)}"
        yield (
            "<figcaption>Accuracy against float64 along the operand. Shaded: value or gradient of the "
            "original is not finite. Bars: captured elements.</figcaption></figure>"
        )
    if report.witness is not None:
        yield from _witness(report.witness)
    if report.calls:
        yield f'<p class="aside">{plural(report.calls, "call")}{escape(extents_text(report))}</p>'
    for note in report.notes:
        yield f'<p class="note">{prose(note)}</p>'
    yield "</details>"


def _diff(mark: str, element: str, text: str) -> str:
    lines = "\n".join(f"{mark} {line}" for line in text.splitlines())
    return f"<{element}>{escape(lines)}</{element}>"


def _witness(witness: WitnessShown) -> Iterator[str]:
    if witness.line is not None:
        yield f'<pre class="call"><code>{escape(witness.line)}</code></pre>'
    yield f'<table class="witness"><caption>Witness: {escape(witness.label)}</caption><tbody>'
    for operand in witness.operands:
        values = ", ".join(number_text(value) for value in operand.values)
        yield (
            f"<tr><th><code>{escape(operand.name)}</code></th><td>{escape(operand.text)}</td>"
            f"<td><code>{escape(values)}</code></td></tr>"
        )
    yield f'<tr><th>original</th><td colspan="2" class="bad">{escape(witness.original)}</td></tr>'
    if witness.fixed is not None:
        kind = "bad" if witness.fixed_failed else "good"
        yield f'<tr><th>fixed</th><td colspan="2" class="{kind}">{escape(witness.fixed)}</td></tr>'
    yield "</tbody></table>"
