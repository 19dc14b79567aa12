"""One self-contained page on a verification: code, verdicts, plots, witnesses, the rerun."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from stablelint.report.context import Context
from stablelint.report.page import page, prose
from stablelint.report.parts import as_page
from stablelint.report.source import Sources
from stablelint.report.verify import plots
from stablelint.report.verify.text import MEANING, meaning, told_of, told_of_rerun
from stablelint.runtime.plain import plural
from stablelint.runtime.verify.outcome import Curve, Report, SiteReport
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


def _rerun(report: Report) -> Iterator[str]:
    rerun = report.rerun
    if rerun is None or rerun.after is None:
        return
    before, after = rerun.before.losses, rerun.after.losses
    drawn = (lambda: f"<figure>{plots.losses(before, after)}</figure>") if before or after else None
    yield '<section class="rerun">'
    yield from as_page(told_of_rerun(report, rerun, Context(os.getcwd()), drawn), Sources())
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
    said = meaning(report)
    yield f'<p class="meaning">{prose(site.message)}<br><i>{escape(f"{said[:1].upper()}{said[1:]}.")}</i></p>'
    curve = report.curve
    yield from as_page(told_of(report, None if curve is None else lambda: _figure(curve)), Sources())
    yield "</details>"


def _figure(curve: Curve) -> str:
    return (
        f"<figure>{plots.accuracy(curve)}"
        "<figcaption>Accuracy against float64 along the operand. Shaded: value or gradient of the "
        "original is not finite. Bars: captured elements.</figcaption></figure>"
    )
