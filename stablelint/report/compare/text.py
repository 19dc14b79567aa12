"""Two runs compared, for people: the first difference with its code, why, what was tried, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stablelint.report.cells import plain
from stablelint.report.compare import tolerance
from stablelint.report.context import Context
from stablelint.report.numbers import shape, short, spark
from stablelint.report.tables import headed, listing, note, placed, table

_LOSSES = 6
OPERAND = "shape, dtype, min, max, nan, inf"
"""Columns of the table on operands."""
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
    if report["kind"] == "tensors":
        return tolerance.render(report, context)
    return "\n".join(_lines(report, context)) + "\n"


def _lines(report: Mapping[str, Any], context: Context) -> Iterator[str]:
    style = context.style
    head, paint = ("same", style.added) if report["same"] else ("different", style.error)
    yield from headed(head, report["summary"], context, paint)
    difference = report["difference"]
    if difference is not None:
        yield from _place(difference, context)
        yield from _where(difference, report, context)
        yield from _values(difference, context)
    yield from _cause(report["cause"], context)
    yield from _chain(report["chain"], context)
    yield from _losses(report["runs"], context)
    yield from _script(report["script"], context)
    for text in report["notes"]:
        yield from note("note", plain(text), context)
    for one in report["runs"]:
        if one["full"]:
            yield from note(
                "note", f"{one['label']}: the limit on disk was reached; later steps are not shown", context
            )


def _place(difference: Mapping[str, Any], context: Context) -> Iterator[str]:
    sides = [side for side in (difference["first"], difference["second"]) if side is not None]
    seen = set()
    for side in sides:
        key = (side["filename"], str(side["location"]), side["expression"])
        if key in seen or side["location"] is None:
            continue
        seen.add(key)
        if (
            len(seen) == 1 or sides[0]["expression"] != sides[1]["expression"]
        ):  # else a counterpart in another tree
            yield from placed(side, context, context.style.error, _LABELS.get(difference["kind"], ""))


def _where(difference: Mapping[str, Any], report: Mapping[str, Any], context: Context) -> Iterator[str]:
    side = difference["first"] or difference["second"]
    where = f"{difference['phase']} of step {difference['step']}, operation {side['operation']}"
    if difference["module"]:
        where += f", module {difference['module']}"
    yield from note("where", where, context)
    for name, run in zip(("first", "second"), report["runs"], strict=True):
        one = difference[name]
        if one is not None and one["only_here"]:
            yield from note(
                f"only in {run['label']}", ", ".join(f"`{plain(text)}`" for text in one["only_here"]), context
            )
        if one is not None and one["error"] is not None:
            error, allowed = (short(one[key]) for key in ("error", "allowed"))
            text = f"{error} ulps from float64 on the same operands; rounding explains {allowed}"
            yield from note(run["label"], text, context)
    if difference["note"]:
        yield from note("note", plain(difference["note"]), context)


def _values(difference: Mapping[str, Any], context: Context) -> Iterator[str]:
    values = difference["values"]
    if values is not None:
        worst = values["absolute"]
        text = f"{values['beyond']:,} of {values['elements']:,} elements differ"
        if worst is not None:
            text += f", by {short(worst['error'])} at {worst['index']}: {worst['first']!r} and {worst['second']!r}"
        if values["ulps"]:
            text += f"; at most {short(values['ulps']['error'])} ulps"
        yield from note("results", text, context)
    if difference["operands"]:
        yield from listing("operand", difference["operands"], OPERAND, context)
    elif difference["first"] is not None and difference["second"] is not None and values is None:
        if difference["first"]["low"] is None:
            return
        rows = [("result", "shape", "dtype", "min", "max")]
        for name in ("first", "second"):
            one = difference[name]
            rows.append(
                (name, shape(one["shape"]), one["dtype"], *(_full(one[key]) for key in ("low", "high")))
            )
        yield ""
        yield from table(rows, context)


def _full(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float | int) else str(value)


def _cause(cause: Mapping[str, Any] | None, context: Context) -> Iterator[str]:
    if cause is None:
        return
    yield from note("cause", plain(cause["summary"]), context)
    for text in cause["evidence"]:
        yield from note("because", plain(text), context)
    for trial in cause["trials"]:
        verdict = context.style.added("reproducible") if trial["reproducible"] else "no help"
        yield from note(
            f"tried {' + '.join(trial['remedies'])}", f"{verdict}: {plain(trial['note'])}", context
        )
    if cause["advice"]:
        yield from note("help", plain(cause["advice"]), context)


def _chain(chain: list[Mapping[str, Any]], context: Context) -> Iterator[str]:
    if not chain:
        return
    yield from note(
        "error along the operations", spark([float(link["error"]) for link in _thinned(chain)]), context
    )
    rows = [("largest growth of the error", "line", "phase", "step", "error", "times")]
    for link in sorted(chain, key=lambda link: -float(link["growth"]))[:4]:
        if float(link["growth"]) > 2:
            line, step = str(link["row"]), str(link["step"])
            numbers = short(float(link["error"])), short(float(link["growth"]))
            rows.append((plain(link["expression"])[:60], line, link["phase"], step, *numbers))
    if len(rows) > 1:
        yield ""
        yield from table(rows, context)


def _thinned(chain: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return chain[:: max(len(chain) // 16, 1)]


def _losses(runs: list[Mapping[str, Any]], context: Context) -> Iterator[str]:
    pairs = list(zip(*(run["losses"] for run in runs), strict=False))
    apart = [pair for pair in pairs if pair[0][1] != pair[1][1]]
    if not apart:
        return
    rows = [("step", *(f"loss, {run['label']}" for run in runs), "difference")]
    for one, other in apart[:_LOSSES]:
        gap = _gap(one[1], other[1])
        rows.append((str(one[0]), _full(one[1]), _full(other[1]), gap))
    yield ""
    yield from table(rows, context)


def _gap(one: object, other: object) -> str:
    both = isinstance(one, float | int) and isinstance(other, float | int)
    return short(abs(one - other)) if both else ""  # type: ignore[operator]


def _script(script: Mapping[str, Any] | None, context: Context) -> Iterator[str]:
    if script is None:
        return
    yield ""
    shown = (
        "shows the difference when it runs alone" if script["shows"] else "did not show the difference alone"
    )
    count = f"{script['operations']} operation{'' if script['operations'] == 1 else 's'}"
    text = f"{context.shown(script['path'])}: {count}, {shown}"
    yield from note("script", text, context)
    for line in script["graph"]:
        yield f"    {plain(line)}"
