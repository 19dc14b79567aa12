"""One self-contained page on a comparison: the difference with its code, both losses, the error along the operations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from stablelint.report.compare import tolerance
from stablelint.report.compare.text import OPERAND
from stablelint.report.numbers import listed, shape, short
from stablelint.report.page import Axes, curves, excerpt, page, prose, table
from stablelint.report.source import Sources

_SIZE = {"width": 800, "height": 220}
_COLOURS = ("--before", "--after")
_SIGNIFICAND = 53  # bits of a double: no error is told below one of its roundings


def render(report: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    parts = tolerance.section(report) if report["kind"] == "tensors" else _runs(report)
    return page("compare", parts, "compare")


def _runs(report: Mapping[str, Any]) -> Iterator[str]:
    verdict, kind = ("same", "confirmed") if report["same"] else ("different", "ineffective")
    yield f'<h2><span class="badge {kind}">{verdict}</span> {prose(report["summary"])}</h2>'
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
        yield f"<figure>{curves(*(run['losses'] for run in report['runs']), **_SIZE)}</figure>"
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
            yield excerpt(side, sources)
    where = f"{difference['phase']} of step {difference['step']}"
    where += f", module {difference['module']}" if difference["module"] else ""
    yield f"<p>{escape(where)}</p>"
    heads = ("", "operation", "shape", "dtype", "min", "max", "ulps from float64", "explained")
    rows = [
        (
            run["label"],
            side["operation"],
            shape(side["shape"]) if side["shape"] else "",
            side["dtype"],
            *(short(side[key]) for key in ("low", "high", "error", "allowed")),
        )
        for run, side in zip(runs, sides, strict=True)
        if side is not None
    ]
    yield table(_known([heads, *rows]))
    if difference["operands"]:
        yield table(listed("operand", difference["operands"], OPERAND))
    if difference["values"] is not None:
        values = difference["values"]
        yield f"<p>{values['beyond']:,} of {values['elements']:,} elements differ; by doublings of an ulp:"
        yield f" <code>{tolerance.bars(values['histogram'])}</code></p>"


def _known(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """A table without the columns in which nothing is told."""
    kept = [
        index for index in range(len(rows[0])) if any(row[index] not in ("", short(None)) for row in rows[1:])
    ]
    return [[row[index] for index in kept] for row in rows]


def _cause(cause: Mapping[str, Any] | None) -> Iterator[str]:
    if cause is None:
        return
    yield f"<dl><dt>cause</dt><dd>{prose(cause['summary'])}</dd>"
    yield from (f"<dt>because</dt><dd>{prose(text)}</dd>" for text in cause["evidence"])
    for trial in cause["trials"]:
        verdict = "reproducible" if trial["reproducible"] else "no help"
        yield f"<dt>tried {escape(' + '.join(trial['remedies']))}</dt><dd>{verdict}: {escape(trial['note'])}</dd>"
    if cause["advice"]:
        yield f"<dt>help</dt><dd>{escape(cause['advice'])}</dd>"
    yield "</dl>"


def _dots(chain: Sequence[Mapping[str, Any]]) -> str:
    """For each operation the bits of its result that the two runs do not share, of 53."""
    bits = [
        (link, max(0.0, _SIGNIFICAND + math.log2(max(float(link["error"]), 2.0**-_SIGNIFICAND))))
        for link in chain
    ]
    bits = [(link, min(height, 64.0)) for link, height in bits]
    top = max(height for _, height in bits)
    axes = Axes(0, max(int(link["index"]) for link, _ in bits), 0.0, top, **_SIZE)
    marks = ""
    for number, (link, height) in enumerate(bits):
        x, y = axes.at(int(link["index"]), height)
        title = f"{link['expression']}, line {link['row']}, {link['phase']} of step {link['step']}: {height:.1f} bits"
        kind = "dot first" if number == 0 else "dot"
        marks += (
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(title)}</title></circle>'
        )
    return f"<figure>{axes.drawn(marks, f'{top:.0f} bits', '0', 'operation')}</figure>"
