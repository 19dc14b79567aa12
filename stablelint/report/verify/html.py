"""One self-contained page on a verification: code, verdicts, witnesses, accuracy along an operand, the rerun."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from itertools import groupby, pairwise

from stablelint.report.cells import crop, one_line
from stablelint.report.context import Context, Sources
from stablelint.report.page import COLOURS, Axes, curves, legend, page, polyline, prose
from stablelint.report.parts import as_page
from stablelint.report.verify.text import MEANING, meaning, rerun_parts, site_parts
from stablelint.runtime.plain import plural
from stablelint.runtime.verify.outcome import Curve, Report, SiteReport
from stablelint.runtime.verify.probe.series import Series
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
    drawn = (lambda: f"<figure>{losses(before, after)}</figure>") if before or after else None
    yield '<section class="rerun">'
    yield from as_page(rerun_parts(report, rerun, Context(os.getcwd()), drawn), Sources())
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
    yield from as_page(site_parts(report, None if curve is None else lambda: _figure(curve)), Sources())
    yield "</details>"


def _figure(curve: Curve) -> str:
    return (
        f"<figure>{accuracy(curve)}"
        "<figcaption>Accuracy against float64 along the operand. Shaded: value or gradient of the "
        "original is not finite. Bars: captured elements.</figcaption></figure>"
    )


_LEAST = {False: 1e-12, True: 1e-6}  # by whether there are negative points: magnitudes below share a stretch
_STRETCH = 0.6  # decades that they take on either side of 0
_NARROWEST = 3.0  # of what is shaded: a single point is seen, too
_OF_HEIGHT = 0.32  # what the highest of the bars takes

Place = Callable[[float], float]


def accuracy(curve: Curve) -> str:
    """Correct bits over the operand for both expressions, where the original fails, and what was captured."""
    positive = [abs(point) for point in curve.points if point]
    signs = (-1, 1) if min(curve.points) < 0 else (1,)
    low, high = max(min(positive), _LEAST[len(signs) > 1]), max(positive)
    place = _symmetric_logarithm(low)
    both = curve.original_bits, curve.fixed_bits
    most = 1 + max((bits for side in both for bits in side if bits is not None), default=24.0)
    axes = Axes(place(min(curve.points)), place(max(curve.points)), 0.0, most, 640, 220)
    inside = "".join(
        _box(axes, "--bad-soft", place(left), place(right), most) for left, right in _failing(curve)
    )
    top = max(curve.captured, default=0) or 1
    for (left, right), count in zip(pairwise(curve.edges), curve.captured, strict=False):
        inside += _box(axes, "--bars", place(left), place(right), _OF_HEIGHT * most * count / top)
    for side, colour in zip(both, COLOURS, strict=True):
        inside += "".join(polyline(axes, colour, points) for points in _known(curve.points, side, place))
    for tick in (0.0, *(sign * power for sign in signs for power in _powers(low, high, len(signs)))):
        x = min(axes.at(place(tick), 0.0)[0], axes.width - 18)  # the last one is seen as a whole
        inside += f'<text x="{x:.1f}" y="{axes.height - 6}" text-anchor="middle">{tick:g}</text>'
    operand = escape(crop(one_line(curve.operand), 0, 60))
    title = f"Correct bits of {legend('original', 'fixed')} along {operand} ({curve.dtype})"
    return f"<h3>{title}</h3>{axes.drawn(inside, f'{most:.0f}', '0')}"


def losses(*runs: Series | None) -> str:
    """Loss by step, before and after the fixes; what is not finite is marked."""
    series = [
        [
            (index * run.stride, loss if math.isfinite(loss) else str(loss))
            for index, loss in enumerate(run.losses)
        ]
        for run in (run or Series() for run in runs)
    ]
    return f"<h3>Loss {legend('before', 'after')}</h3>{curves(*series, width=640, height=200)}"


def _symmetric_logarithm(low: float) -> Place:
    """Where a number stands on an axis that is linear below the magnitude `low` and logarithmic above."""

    def place(number: float) -> float:
        beyond = math.log10(max(abs(number) / low, 1.0))
        return math.copysign(_STRETCH * min(abs(number) / low, 1.0) + beyond, number)

    return place


def _powers(low: float, high: float, signs: int) -> list[float]:
    """A few powers of ten from the largest down, of which all signs have room."""
    apart = max(1, round((math.log10(high) - math.log10(low)) * signs / 6))
    return [10.0**power for power in range(math.floor(math.log10(high)), math.ceil(math.log10(low)), -apart)]


def _known(
    points: tuple[float, ...], bits: tuple[float | None, ...], place: Place
) -> Iterator[list[tuple[float, float]]]:
    """The stretches of points of which the accuracy is known."""
    for known, stretch in groupby(zip(points, bits, strict=True), key=lambda pair: pair[1] is not None):
        if known:
            yield [(place(point), height or 0.0) for point, height in stretch]


def _failing(curve: Curve) -> Iterator[tuple[float, float]]:
    """Ranges in which the original fails: from half way to the point before to half way to the one behind."""
    points = curve.points
    for failing, stretch in groupby(range(len(points)), key=curve.failing.__getitem__):
        if failing:
            places = list(stretch)
            first, last = places[0], places[-1]
            before, behind = points[max(first - 1, 0)], points[min(last + 1, len(points) - 1)]
            yield (before + points[first]) / 2, (points[last] + behind) / 2


def _box(axes: Axes, colour: str, left: float, right: float, height: float) -> str:
    (x, base), (end, top) = axes.at(left, 0.0), axes.at(right, height)
    width = max(end - x, _NARROWEST)
    return (
        f'<rect style="fill: var({colour})" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{max(base - top, 0):.1f}"/>'
    )
