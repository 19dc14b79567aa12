"""One self-contained page on a comparison: the difference with its code, both losses, the error along the operations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from stablelint.report.cells import plain
from stablelint.report.compare import tolerance
from stablelint.report.numbers import short
from stablelint.report.source import Sources

_AROUND = 3
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 800, 220, 60, 14, 12, 26
_COLOURS = ("--before", "--after")
_SIGNIFICAND = 53  # bits of a double: no error is told below one of its roundings

_STYLE = """
table { border-collapse: collapse; font-size: .86rem; margin: .5rem 0; }
th, td { text-align: right; padding: .15rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { color: var(--muted); font-weight: 500; }
.scroll { overflow-x: auto; }
pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem; }
mark { background: var(--bad-soft); color: inherit; border-bottom: 2px solid var(--bad); }
svg text { fill: var(--muted); font-size: 12px; }
.axis { stroke: var(--grid); } .line { fill: none; stroke-width: 2; } .dot { fill: var(--after); }
.dot.first { fill: var(--bad); }
dt { color: var(--muted); } dd { margin: 0 0 .4rem 0; }
"""


def render(report: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    shared = files("stablelint.report").joinpath("verify.css").read_text(encoding="utf-8")
    parts = tolerance.section(report) if report["kind"] == "tensors" else _runs(report)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stablelint compare</title>\n<style>\n{shared}{_STYLE}</style></head>\n"
        "<body><main>\n<h1>stablelint compare</h1>\n" + "\n".join(parts) + "\n</main></body></html>\n"
    )


def _runs(report: Mapping[str, Any]) -> Iterator[str]:
    verdict, kind = ("same", "confirmed") if report["same"] else ("different", "ineffective")
    yield f'<h2><span class="badge {kind}">{verdict}</span> {_prose(report["summary"])}</h2>'
    difference = report["difference"]
    if difference is not None:
        yield from _difference(difference, report["runs"])
    yield from _cause(report["cause"])
    if any(len(run["losses"]) > 1 for run in report["runs"]):
        names = " and ".join(
            f'<span style="color: var({colour})">{escape(run["label"])}</span>'
            for run, colour in zip(report["runs"], _COLOURS, strict=False)
        )
        yield f"<h3>Loss: {names}</h3>"
        yield _plot([[pair[1] for pair in run["losses"]] for run in report["runs"]], "step")
    if report["chain"]:
        yield f"<h3>Bits of {_SIGNIFICAND} in which the results differ, along the operations</h3>"
        yield _dots(report["chain"])
    if report["script"] is not None:
        yield f"<h3>{escape(report['script']['path'])}</h3><pre>{escape(chr(10).join(report['script']['graph']))}</pre>"
    for text in report["notes"]:
        yield f'<p class="aside">{escape(text)}</p>'


def _difference(difference: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sides = [difference[name] for name in ("first", "second")]
    sources = Sources()
    shown: set[tuple[str, str]] = set()
    for side in filter(None, sides):
        key = side["expression"], str(side["location"])
        if (
            side["location"] is not None
            and key not in shown
            and (not shown or side["expression"] not in dict(shown))
        ):
            shown.add(key)
            yield f'<p class="place">{escape(side["filename"])}:{side["location"]["row"]}</p>'
            yield f"<pre>{_code(side, sources)}</pre>"
    where = f"{difference['phase']} of step {difference['step']}"
    where += f", module {difference['module']}" if difference["module"] else ""
    yield f"<p>{escape(where)}</p>"
    heads = ("", "operation", "shape", "dtype", "min", "max", "ulps from float64", "explained")
    rows = [
        (
            run["label"],
            side["operation"],
            "×".join(map(str, side["shape"])),
            side["dtype"],
            *(short(side[key]) for key in ("low", "high", "error", "allowed")),
        )
        for run, side in zip(runs, sides, strict=True)
        if side is not None
    ]
    yield _table(*_known(heads, rows))
    if difference["operands"]:
        keys = ("name", "shape", "dtype", "min", "max", "nan", "inf")
        yield _table(keys, [[_cell(one[key]) for key in keys] for one in difference["operands"]])
    if difference["values"] is not None:
        values = difference["values"]
        yield f"<p>{values['beyond']:,} of {values['elements']:,} elements differ; by doublings of an ulp:"
        yield f" <code>{tolerance.bars(values['histogram'])}</code></p>"


def _known(
    heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A table without the columns in which nothing is told."""
    kept = [index for index in range(len(heads)) if any(row[index] not in ("", short(None)) for row in rows)]
    return [heads[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _prose(text: str) -> str:
    """A sentence with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _cause(cause: Mapping[str, Any] | None) -> Iterator[str]:
    if cause is None:
        return
    yield f"<dl><dt>cause</dt><dd>{_prose(cause['summary'])}</dd>"
    yield from (f"<dt>because</dt><dd>{_prose(text)}</dd>" for text in cause["evidence"])
    for trial in cause["trials"]:
        verdict = "reproducible" if trial["reproducible"] else "no help"
        yield f"<dt>tried {escape(' + '.join(trial['remedies']))}</dt><dd>{verdict}: {escape(trial['note'])}</dd>"
    if cause["advice"]:
        yield f"<dt>help</dt><dd>{escape(cause['advice'])}</dd>"
    yield "</dl>"


def _code(side: Mapping[str, Any], sources: Sources) -> str:
    lines = sources.lines(side["filename"])
    row, end = side["location"]["row"], side["end_location"]
    last = end["row"] if end else row
    shown = []
    for number in range(max(1, row - _AROUND), min(len(lines), last + _AROUND) + 1):
        line = lines[number - 1]
        text = escape(line)
        if end is not None and row <= number <= last:
            start = side["location"]["column"] - 1 if number == row else len(line) - len(line.lstrip())
            stop = end["column"] - 1 if number == last else len(line)
            text = f"{escape(line[:start])}<mark>{escape(line[start:stop])}</mark>{escape(line[stop:])}"
        shown.append(f"{number:>5}  {text}")
    return "\n".join(shown)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _cell(value: object) -> str:
    return "×".join(map(str, value)) if isinstance(value, list) else plain(short(value))


def _plot(series: Sequence[Sequence[object]], across: str) -> str:
    """Lines over their index, one for each series; what is not finite is left out."""
    known = [[(x, float(y)) for x, y in enumerate(one) if isinstance(y, int | float)] for one in series]
    values = [y for one in known for _, y in one]
    if not values:
        return "<p>No finite value.</p>"
    place = _scale(max(len(one) for one in series) - 1, min(values), max(values))
    lines = ""
    for one, colour in zip(known, _COLOURS, strict=False):
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in one)
        lines += f'<polyline class="line" style="stroke: var({colour})" points="{points}"/>'
    last = max(len(one) for one in series) - 1
    return _svg(lines, short(max(values)), short(min(values)), across, last)


def _dots(chain: Sequence[Mapping[str, Any]]) -> str:
    """For each operation the bits of its result that the two runs do not share, of 53."""
    bits = [
        (link, max(0.0, _SIGNIFICAND + math.log2(max(float(link["error"]), 2.0**-_SIGNIFICAND))))
        for link in chain
    ]
    bits = [(link, min(height, 64.0)) for link, height in bits]
    top = max(height for _, height in bits)
    place = _scale(max(int(link["index"]) for link, _ in bits), 0.0, top)
    marks = ""
    for number, (link, height) in enumerate(bits):
        x, y = place(int(link["index"]), height)
        title = f"{link['expression']}, line {link['row']}, {link['phase']} of step {link['step']}: {height:.1f} bits"
        kind = "dot first" if number == 0 else "dot"
        marks += (
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(title)}</title></circle>'
        )
    return _svg(marks, f"{top:.0f} bits", "0", "operation", max(int(link["index"]) for link, _ in bits))


def _scale(last: float, low: float, high: float) -> Any:
    def place(x: float, y: float) -> tuple[float, float]:
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        height = (high - y) / ((high - low) or 1.0)
        return _LEFT + x / max(last, 1) * (right - _LEFT), _TOP + height * (bottom - _TOP)

    return place


def _svg(inside: str, top: str, bottom: str, across: str, last: int) -> str:
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{right}" y2="{base}"/>{inside}'
        f'<text x="{_LEFT - 6}" y="{_TOP + 6}" text-anchor="end">{escape(top)}</text>'
        f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{escape(bottom)}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{across} 0</text>'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{last}</text></svg></figure>'
    )
