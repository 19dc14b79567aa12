"""Two runs compared, for people: the first difference with its code, why, what was tried, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from stablelint.report.cells import plain
from stablelint.report.compare import tolerance
from stablelint.report.context import Context, Sources
from stablelint.report.page import Axes, curves, finite, legend, page
from stablelint.report.parts import Code, Note, Part, Place, Rows, as_page, as_text
from stablelint.report.tables import listed, short, spark
from stablelint.runtime.plain import plural, shape_text

_LOSSES = 6
_SIZE = {"width": 800, "height": 220}
_SIGNIFICAND = 53  # bits of a double: no error is told below one of its roundings
_LABELS = {
    "result": "another result",
    "draw": "draws other numbers",
    "operands": "reads other tensors",
    "number": "another number",
    "input": "other data",
    "order": "another order",
    "shape": "another shape",
    "path": "runs in one only",
    "rounding": "beyond rounding",
    "underflow": "vanishes here",
    "growth": "the error grows here",
    "nonfinite": "not finite here",
    "graph": "other numbers when compiled",
}


def render(report: Mapping[str, Any], context: Context) -> str:
    """The report on a comparison of any kind."""
    return "\n".join(as_text(_parts_of(report), context)) + "\n"


def render_page(report: Mapping[str, Any]) -> str:
    """The same on a page; nothing in it is loaded from elsewhere."""
    return page("compare", as_page(_parts_of(report), Sources()), "compare")


def _parts_of(report: Mapping[str, Any]) -> Iterator[Part]:
    return tolerance.parts_of(report) if report["kind"] == "tensors" else _on_runs(report)


def _on_runs(report: Mapping[str, Any]) -> Iterator[Part]:
    yield tolerance.verdict(report, report["summary"])
    difference = report["difference"]
    if difference is not None:
        yield from _places(difference)
        yield from _where(difference, report)
        yield from _values(difference)
    yield from _cause(report["cause"])
    yield from _chain(report["chain"])
    yield from _losses(report["runs"])
    yield from _script(report["script"])
    yield from (Note("note", text) for text in report["notes"])
    for one in report["runs"]:
        if one["full"]:
            yield Note("note", f"{one['label']}: the limit on disk was reached; later steps are not shown")


def _places(difference: Mapping[str, Any]) -> Iterator[Part]:
    """Both sides, but for a counterpart in another tree."""
    seen: set[str] = set()
    for side in (difference["first"], difference["second"]):
        if side is not None and side["location"] is not None and side["expression"] not in seen:
            seen.add(side["expression"])
            yield Place(side, _LABELS.get(difference["kind"], ""))


def _where(difference: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Part]:
    side = difference["first"] or difference["second"]
    where = f"{difference['phase']} of step {difference['step']}, operation {side['operation']}"
    if difference["module"]:
        where += f", module {difference['module']}"
    yield Note("where", where)
    for name, run in zip(("first", "second"), report["runs"], strict=True):
        one = difference[name]
        if one is not None and one["only_here"]:
            yield Note(f"only in {run['label']}", ", ".join(f"`{text}`" for text in one["only_here"]))
        if one is not None and one["error"] is not None:
            error, allowed = (short(one[key]) for key in ("error", "allowed"))
            text = f"{error} ulps from float64 on the same operands; rounding explains {allowed}"
            yield Note(run["label"], text)
    if difference["note"]:
        yield Note("note", difference["note"])


def _values(difference: Mapping[str, Any]) -> Iterator[Part]:
    values = difference["values"]
    if values is not None:
        worst = values["absolute"]
        text = f"{values['beyond']:,} of {values['elements']:,} elements differ"
        if worst is not None:
            text += f", by {short(worst['error'])} at {worst['index']}: {worst['first']!r} and {worst['second']!r}"
        if values["ulps"]:
            text += f"; at most {short(values['ulps']['error'])} ulps"
        yield Note("results", text)
        yield Note("differences in ulps", tolerance.bars(values["histogram"]))
    if difference["operands"]:
        yield Rows(listed("operand", difference["operands"], "shape, dtype, min, max, nan, inf"))
    elif difference["first"] is not None and difference["second"] is not None and values is None:
        rows = [("result", "shape", "dtype", "min", "max")]
        for name in ("first", "second"):
            one = difference[name]
            rows.append((name, shape_text(one["shape"]), one["dtype"], _full(one["low"]), _full(one["high"])))
        yield Rows(rows if difference["first"]["low"] is not None else ())


def _full(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float | int) else str(value)


def _cause(cause: Mapping[str, Any] | None) -> Iterator[Part]:
    if cause is None:
        return
    yield Note("cause", cause["summary"])
    yield from (Note("because", text) for text in cause["evidence"])
    for trial in cause["trials"]:
        verdict = ("reproducible", True) if trial["reproducible"] else ("no help", False)
        yield Note(f"tried {' + '.join(trial['remedies'])}", trial["note"], verdict)
    if cause["advice"]:
        yield Note("help", cause["advice"])


def _chain(chain: list[Mapping[str, Any]]) -> Iterator[Part]:
    if not chain:
        return
    course = [float(link["error"]) for link in chain[:: max(len(chain) // 16, 1)]]
    yield Note("error along the operations", spark(course), drawn=lambda: dots(chain))
    rows = [("largest growth of the error", "line", "phase", "step", "error", "times")]
    for link in sorted(chain, key=lambda link: -float(link["growth"]))[:4]:
        if float(link["growth"]) > 2:
            line, step = str(link["row"]), str(link["step"])
            numbers = short(float(link["error"])), short(float(link["growth"]))
            rows.append((plain(link["expression"])[:60], line, link["phase"], step, *numbers))
    yield Rows(rows)


def _losses(runs: list[Mapping[str, Any]]) -> Iterator[Part]:
    pairs = list(zip(*(run["losses"] for run in runs), strict=False))
    rows = [("step", *(f"loss, {run['label']}" for run in runs), "difference")]
    for (step, one), (_, other) in [pair for pair in pairs if pair[0][1] != pair[1][1]][:_LOSSES]:
        gap = short(abs(one - other)) if finite(one) and finite(other) else ""
        rows.append((str(step), _full(one), _full(other), gap))
    yield Rows(rows, (lambda: losses(runs)) if len(pairs) > 1 else None)


def losses(runs: Sequence[Mapping[str, Any]]) -> str:
    """The losses of both runs, drawn."""
    drawing = curves(*(run["losses"] for run in runs), **_SIZE)
    return f"<h3>Loss: {legend(*(run['label'] for run in runs))}</h3><figure>{drawing}</figure>"


def dots(chain: Sequence[Mapping[str, Any]]) -> str:
    """For each operation the bits of its result that the two runs do not share, of 53, drawn."""
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
    title = f"Bits of {_SIGNIFICAND} in which the results differ, along the operations"
    return f"<h3>{title}</h3><figure>{axes.drawn(marks, f'{top:.0f} bits', '0', 'operation')}</figure>"


def _script(script: Mapping[str, Any] | None) -> Iterator[Part]:
    if script is None:
        return
    shown = (
        "shows the difference when it runs alone" if script["shows"] else "did not show the difference alone"
    )
    size = plural(script["operations"], "operation")
    yield Note("script", f"{script['path']}: {size}, {shown}", apart=True)
    yield Code(script["graph"])
