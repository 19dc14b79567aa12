"""What the pages of all reports are made of: the whole, excerpts of code, tables and curves. Nothing is loaded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, TypeGuard

from stablelint.records import dataclass
from stablelint.report.context import Sources
from stablelint.report.tables import short

_AROUND = 3  # source lines shown on either side of an expression
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 14, 12, 24
COLOURS = ("--before", "--after")


def page(command: str, parts: Iterable[str], style: str = "", script: str = "") -> str:
    """The page of a command; `style` names a file of `styles` besides the common one."""
    folder = files("stablelint.report").joinpath("styles")
    css = [folder.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in ("page", style) if name]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stablelint {command}</title>\n<style>\n{''.join(css)}</style></head>\n"
        f"<body><main>\n<h1>stablelint {command}</h1>\n{body}\n</main>{script}</body></html>\n"
    )


def prose(text: str) -> str:
    """A sentence with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    lines = [
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(rows, ("th", *["td"] * len(rows)), strict=False)
    ]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def excerpt(place: Mapping[str, Any], sources: Sources) -> str:
    """The lines around an expression, which is marked; `place` is as JSON has it."""
    lines, start, end = sources.lines(place["filename"]), place["location"], place["end_location"]
    row, last = start["row"], (end or start)["row"]
    shown = []
    for number in range(max(1, row - _AROUND), min(len(lines), last + _AROUND) + 1):
        line = lines[number - 1]
        parts = line, "", ""
        if end is not None and start["column"] and row <= number <= last:
            first = start["column"] - 1 if number == row else len(line) - len(line.lstrip())
            stop = end["column"] - 1 if number == last else len(line)
            parts = line[:first], line[first:stop], line[stop:]
        before, inside, after = map(escape, parts)
        shown.append(f"{number:>5}  {before}" + (f"<mark>{inside}</mark>" if inside else "") + after)
    return "<pre>" + "\n".join(shown) + "</pre>"


@dataclass(frozen=True, slots=True)
class Axes:
    """A drawing over an axis from `first` to `last`, between the heights `low` and `high`."""

    first: float
    last: float
    low: float
    high: float
    width: int = 400
    height: int = 170

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is drawn."""
        across = (x - self.first) / max(self.last - self.first, 1)
        down = (self.high - y) / ((self.high - self.low) or 1.0)
        return (
            _LEFT + across * (self.width - _RIGHT - _LEFT),
            _TOP + down * (self.height - _BOTTOM - 4 - _TOP),
        )

    def drawn(self, inside: str, top: str, bottom: str, unit: str = "", scale: str = "") -> str:
        """The drawing, with what its ends are called; those of the axis have their numbers where it has a `unit`."""
        base, right, under = self.height - _BOTTOM, self.width - _RIGHT, self.height - 6
        first, last = (f"{unit} {end:g}" if unit else "" for end in (self.first, self.last))
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img">'
            f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{right}" y2="{base}"/>{inside}'
            f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{escape(top)}</text>'
            f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{escape(bottom)}</text>'
            f'<text x="{_LEFT}" y="{under}">{first}</text>'
            f'<text x="{(_LEFT + right) / 2}" y="{under}" text-anchor="middle">{scale}</text>'
            f'<text x="{right}" y="{under}" text-anchor="end">{last}</text></svg>'
        )


def polyline(axes: Axes, colour: str, points: Iterable[tuple[float, float]]) -> str:
    """A line through points; a dot where there is but one."""
    placed = [axes.at(*point) for point in points]
    if len(placed) == 1:
        (x, y), *_ = placed
        return f'<circle style="fill: var({colour})" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    return f'<polyline class="line" style="stroke: var({colour})" points="{line}"/>'


def legend(*names: str) -> str:
    """What the curves of a drawing are called, each in its colour."""
    pairs = zip(names, COLOURS, strict=True)
    return " and ".join(f'<span style="color: var({colour})">{escape(name)}</span>' for name, colour in pairs)


def curves(*series: Sequence[tuple[float, object]], width: int = 400, height: int = 170) -> str:
    """Lines over the steps, logarithmic where values span more than two decades; what is not finite as dots."""
    numbers = [value for one in series for _, value in one if finite(value)]
    steps = [step for one in series for step, _ in one]
    if not numbers:
        return "<p>No finite value.</p>"
    logarithmic = min(numbers) > 0 and max(numbers) / min(numbers) > 100
    low, high = (math.log10(one) if logarithmic else one for one in (min(numbers), max(numbers)))
    axes = Axes(min(steps), max(steps), low, high, width, height)
    inside = ""
    for one, colour in zip(series, COLOURS[-len(series) :], strict=True):
        known = ((step, value) for step, value in one if finite(value))
        points = ((step, math.log10(value) if logarithmic else value) for step, value in known)
        inside += polyline(axes, colour, points)
        bad = [(axes.at(step, high), value) for step, value in one if isinstance(value, str)]
        inside += "".join(f'<circle class="bad" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for (x, y), _ in bad)
        for (x, y), value in bad[-1:]:
            inside += (
                f'<text class="bad" x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(value)}</text>'
            )
    ends = short(max(numbers)), short(min(numbers)) if low < high else ""
    return axes.drawn(inside, *ends, "step", "log scale" if logarithmic else "")


def finite(value: object) -> TypeGuard[float]:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)
