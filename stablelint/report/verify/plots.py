"""Plots of a verification as SVG, in colours that follow the page's light or dark scheme."""

from __future__ import annotations

import io
import math
import re
from typing import Any

from stablelint.report.cells import one_line
from stablelint.runtime.verify.outcome import Curve
from stablelint.runtime.verify.probe.series import Series

# Colours of the drawing, each replaced by a custom property of the page.
_NAMES = ("ink", "muted", "grid", "before", "after", "bad-soft", "bars")
_INK, _MUTED, _GRID, _BEFORE, _AFTER, _BAD, _BARS = (
    f"#{number:02}{number:02}{number:02}" for number in range(1, 8)
)
_PROPERTIES = dict(zip((_INK, _MUTED, _GRID, _BEFORE, _AFTER, _BAD, _BARS), _NAMES, strict=True))
_LINEAR = 1e-12  # magnitudes below this share one linear stretch around 0
_LINEAR_SIGNED = 1e-6


def _figure(height: float, left: float = 0.09) -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, height))
    figure.subplots_adjust(left=left, right=0.985, top=1 - 0.28 / height, bottom=0.48 / height)
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    _dress(axes)
    return figure, axes


def _dress(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GRID)
    axes.tick_params(colors=_MUTED, labelsize=8)
    axes.xaxis.label.set_color(_MUTED)
    axes.yaxis.label.set_color(_MUTED)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)


def _svg(figure: Any, label: str, prefix: str) -> str:
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcParams["svg.fonttype"] = "none"
        matplotlib.rcParams["svg.hashsalt"] = "stablelint"
        held = io.StringIO()
        figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
    text = held.getvalue()
    text = text[text.index("<svg") :]
    for colour, name in _PROPERTIES.items():
        text = text.replace(colour, f"var(--{name})")
    # one page holds many drawings: their ids must not collide
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', text)
    opening = rf'<svg viewBox="\1" role="img" aria-label="{label}">'
    text = re.sub(r'<svg [^>]*viewBox="([^"]+)"[^>]*>', opening, text, count=1)
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)


def accuracy(curve: Curve, prefix: str) -> str:
    """Correct bits over the operand for both expressions, where the original fails, and what was captured."""
    figure, axes = _figure(2.7)
    _scale(axes, curve)
    most = 1 + max(
        (bits for bits in (*curve.original_bits, *curve.fixed_bits) if bits is not None), default=24.0
    )
    marked = zip(curve.points, curve.failing, strict=True)
    lone = [point for point, bad in marked if bad and abs(point) < _LINEAR]
    axes.vlines(lone, 0, most, color=_BAD, linewidth=5, zorder=0)
    for first, last in _stretches(curve):
        axes.axvspan(first, last, color=_BAD, linewidth=0, zorder=0)
    _bars(axes, curve, most)
    for values, colour, style, name in (
        (curve.original_bits, _BEFORE, "--", "original"),
        (curve.fixed_bits, _AFTER, "-", "fixed"),
    ):
        known = [math.nan if value is None else value for value in values]
        if any(value is not None for value in values):
            axes.plot(curve.points, known, color=colour, linestyle=style, linewidth=1.8, label=name, zorder=3)
    axes.set_ylim(0, most)
    axes.set_ylabel("correct bits")
    axes.set_xlabel(_short(curve.operand) + f"  ({curve.dtype})")
    axes.grid(axis="y", color=_GRID, linewidth=0.6, alpha=0.6)
    _legend(axes)
    return _svg(figure, "accuracy in bits of original and fixed over the operand", prefix)


def _legend(axes: Any) -> None:
    """Above the drawing, where it hides nothing; none where nothing has a name."""
    if not axes.get_legend_handles_labels()[0]:
        return
    legend = axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        columnspacing=4.0,
        frameon=False,
        fontsize=8,
        borderaxespad=0,
        labelcolor=_INK,
    )
    legend.set_zorder(5)


def _scale(axes: Any, curve: Curve) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    positive = [abs(point) for point in curve.points if point]
    both = min(curve.points) < 0
    low, high = max(min(positive), _LINEAR_SIGNED if both else _LINEAR), max(positive)
    # a symmetric logarithm, with a linear stretch around 0
    axes.set_xscale("symlog", linthresh=low, linscale=0.6)
    axes.set_xlim(min(curve.points), max(curve.points))
    decades = max(1, round((math.log10(high) - math.log10(low)) / (3 if both else 6)))
    powers = range(math.floor(math.log10(high)), math.ceil(math.log10(low)), -decades)
    ticks = [10.0**power for power in powers]
    axes.xaxis.set_major_locator(FixedLocator([*(-tick for tick in ticks if both), 0.0, *ticks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.xaxis.set_minor_locator(NullLocator())


def _tick(value: float) -> str:
    if value == 0 or 1e-3 < abs(value) < 1e4:
        return f"{value:g}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def _stretches(curve: Curve) -> list[tuple[float, float]]:
    """Neighbouring points at which the original fails, as ranges."""
    found: list[tuple[float, float]] = []
    points = curve.points
    for index, bad in enumerate(curve.failing):
        if not bad:
            continue
        first = points[max(index - 1, 0)] if index else points[0]
        last = points[min(index + 1, len(points) - 1)]
        first, last = (first + points[index]) / 2, (last + points[index]) / 2
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def _bars(axes: Any, curve: Curve, most: float) -> None:
    if not curve.captured:
        return
    top = max(curve.captured) or 1
    heights = [0.32 * most * count / top for count in curve.captured]
    axes.stairs(heights, curve.edges, fill=True, color=_BARS, linewidth=0, zorder=1, label="captured")


def losses(before: Series | None, after: Series | None, prefix: str) -> str:
    """Loss by step, before and after the fixes; a cross marks the first loss that is not finite."""
    figure, axes = _figure(2.3, left=0.11)
    shown: list[float] = []
    for series, colour, style, name in ((before, _BEFORE, "--", "before"), (after, _AFTER, "-", "after")):
        if series is None or not series.losses:
            continue
        known = [value if math.isfinite(value) else math.nan for value in series.losses]
        steps = [index * series.stride for index in range(len(known))]
        finite = [value for value in known if value == value]
        mark = "o" if len(finite) <= 3 else None
        shown += finite
        axes.plot(
            steps, known, color=colour, linestyle=style, linewidth=1.6, label=name, marker=mark, markersize=4
        )
        first = series.first_bad_loss
        if first is not None:
            last = next((value for value in reversed(known[: first // series.stride]) if value == value), 0.0)
            axes.plot(
                [first], [last], marker="x", color=colour, markersize=9, markeredgewidth=2, linestyle="none"
            )
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.grid(axis="y", color=_GRID, linewidth=0.6, alpha=0.6)
    if shown and 0 < 100 * min(shown) < max(shown):
        axes.set_yscale("log")
    else:
        axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=False)
        axes.yaxis.get_offset_text().set(color=_MUTED, size=8)
    _legend(axes)
    return _svg(figure, "loss by step before and after the fixes", prefix)


def _short(text: str) -> str:
    line = one_line(text).replace("$", r"\$")
    return line if len(line) <= 60 else line[:57] + "…"
