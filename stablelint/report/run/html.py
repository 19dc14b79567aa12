"""One self-contained page on a guarded run: the expression, its operands, loss and norms by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, TypeGuard

from stablelint.report.run.text import TITLES, same_values, sources_of
from stablelint.report.source import Sources

_AROUND = 3  # source lines shown on either side of the expression
_LAYERS = 16
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM = 400, 170, 72, 14, 24

_STYLE = """
table { border-collapse: collapse; font-size: .86rem; margin: .5rem 0; }
th, td { text-align: right; padding: .15rem .7rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
th { color: var(--muted); font-weight: 500; }
.event { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin: 1rem 0; }
.scroll { overflow-x: auto; }
.event pre { overflow-x: auto; background: var(--paper); border-radius: .4rem; padding: .6rem;
  margin: .6rem 0; }
mark { background: var(--bad-soft); color: inherit; border-bottom: 2px solid var(--bad); }
.add { background: var(--ins); } .sub { background: var(--del); }
.event svg { display: block; width: 100%; min-width: 0; height: auto; }
.event svg text { fill: var(--muted); font-size: 12px; } .event svg .bad-text { fill: var(--bad); }
.line { fill: none; stroke: var(--after); stroke-width: 2; } .bad { fill: var(--bad); } .one { fill: var(--after); }
.axis { stroke: var(--grid); stroke-width: 1; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
  gap: 1rem 1.5rem; }
.layers { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr));
  gap: .8rem 1.2rem; }
figure { margin: 0; min-width: 0; } figcaption { color: var(--muted); font-size: .82rem; }
"""


def render(reports: Sequence[Mapping[str, Any]]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    shared = files("stablelint.report").joinpath("verify.css").read_text(encoding="utf-8")
    sources = sources_of(reports)
    body = "\n".join(part for report in reports for part in _event(report, sources))
    if not reports:
        body = "<p>No NaN and no Inf reached a loss or a gradient.</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stablelint run</title>\n<style>\n{shared}{_STYLE}</style></head>\n"
        f"<body><main>\n<h1>stablelint run</h1>\n{body}\n</main></body></html>\n"
    )


def _event(report: Mapping[str, Any], sources: Sources) -> Iterator[str]:
    event, cause = report["event"], report["cause"]
    code = f" [{cause['code']}]" if cause["code"] else ""
    yield f'<section class="event"><h2>{TITLES[event["kind"]]}{escape(code)}: {escape(cause["summary"])}</h2>'
    where = [f"{event['phase']} pass of step {event['step']}", event["origin"]]
    where += [f"module {event['module']}"] if event["module"] else []
    where += [f"rank {event['rank']}"] if event["rank"] is not None else []
    where += [f"reaches {event['parameter']}"] if event["parameter"] else []
    yield f'<p class="meaning">{escape(", ".join(where))}</p>'
    yield from _source(event, sources)
    if cause["derivation"]:
        yield "<ul>" + "".join(f"<li>{escape(step)}</li>" for step in cause["derivation"]) + "</ul>"
    if event["exact"]:
        yield f"<p>{escape(same_values(event).capitalize())}.</p>"
    if event["note"]:
        yield f"<p>{escape(event['note'])}</p>"
    yield from _operands(event["operands"])
    yield from _history(event["history"])
    yield from _numbers(event.get("parameters", ()), "parameter", ("norm", "min", "max", "nan", "inf"))
    yield from _numbers(event.get("activations", ()), "layer", ("mean", "std", "largest", "before"))
    yield from _layers(event)
    yield from _fix(report)
    yield "</section>"


def _source(event: Mapping[str, Any], sources: Sources) -> Iterator[str]:
    if event["filename"] is None:
        return
    row, column = event["location"]["row"], event["location"]["column"]
    yield f'<p class="place">{escape(event.get("cell") or event["filename"])}:{row}</p>'
    lines = sources.lines(event["filename"])
    end = event["end_location"]
    shown = []
    for number in range(max(1, row - _AROUND), min(len(lines), (end or {"row": row})["row"] + _AROUND) + 1):
        line = lines[number - 1].rstrip("\n")
        text = escape(line)
        if end is not None and column and row <= number <= end["row"]:
            first = column - 1 if number == row else len(line) - len(line.lstrip())
            last = end["column"] - 1 if number == end["row"] else len(line)
            text = f"{escape(line[:first])}<mark>{escape(line[first:last])}</mark>{escape(line[last:])}"
        shown.append(f"{number:>5}  {text}")
    yield "<pre>" + "\n".join(shown) + "</pre>"


def _operands(operands: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not operands:
        return
    heads = ("operand", "shape", "dtype", "device", "min", "max", "zeros", "nan", "inf")
    yield '<div class="scroll"><table><tr>' + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for operand in operands:
        shape = "×".join(map(str, operand["shape"])) or "scalar"
        cells = [operand["name"], shape, operand["dtype"], operand["device"]]
        cells += [_short(operand[key]) for key in ("min", "max", "zero", "nan", "inf")]
        yield "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"


def _numbers(items: Sequence[Mapping[str, Any]], head: str, keys: Sequence[str]) -> Iterator[str]:
    """A table of parameters or layers with their numbers."""
    if not items:
        return
    yield '<div class="scroll"><table><tr>' + "".join(f"<th>{one}</th>" for one in (head, *keys)) + "</tr>"
    for item in items[:_LAYERS]:
        cells = [item["name"], *(_short(item.get(key)) for key in keys)]
        yield "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"


def _history(history: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(history) < 2:
        return
    steps = [record["step"] for record in history]
    yield '<div class="plots">'
    for title, key in (("loss", "loss"), ("gradient norm", "gradient_norm")):
        yield f"<figure><h3>{title}</h3>{plot(steps, [record[key] for record in history])}</figure>"
    yield "</div>"


def _layers(event: Mapping[str, Any]) -> Iterator[str]:
    records = [record for record in event["history"] if record["layers"]]
    if len(records) < 2:
        return
    steps = [record["step"] for record in records]
    yield "<h3>gradient norm by layer</h3>"
    if event["growth"] is not None:
        rates = ", ".join(_short(rate) for rate in event["growth"]["learning_rates"])
        yield f"<p>Learning rate {escape(rates)}.{escape(_clipping(event['growth']))}</p>"
    yield '<div class="layers">'
    width = min(len(record["layers"]) for record in records)
    for index in range(min(width, _LAYERS)):
        name = event["layers"][index] if index < len(event["layers"]) else f"parameter {index}"
        norms = [record["layers"][index] for record in records]
        yield f"<figure>{plot(steps, norms)}<figcaption>{escape(name)}</figcaption></figure>"
    yield "</div>"
    if width > _LAYERS:
        yield f"<p>{width - _LAYERS} more layers are not shown.</p>"


def _clipping(growth: Mapping[str, Any]) -> str:
    typical, last = growth["typical_norm"], growth["last_norm"]
    if not _finite(typical) or not _finite(last) or last <= 0:
        return ""
    scale = min(1.0, typical / last)
    return f" Clipping at the usual norm, {typical:.3g}, would have scaled the last step by {scale:.3g}."


def _fix(report: Mapping[str, Any]) -> Iterator[str]:
    fix, proof = report["fix"], report["verification"]
    if fix is None:
        if report.get("fix_withheld"):
            yield f"<h3>no fix</h3><p>{escape(report['fix_withheld'])}</p>"
        return
    yield f"<h3>fix ({escape(fix['applicability'])})</h3><p>{escape(fix['message'])}</p><pre>"
    kinds = {"+": "add", "-": "sub"}
    for line in fix["diff"].splitlines()[2:]:
        yield f'<span class="{kinds.get(line[:1], "")}">{escape(line)}</span>'
    yield "</pre>"
    for each in filter(None, (proof, (proof or {}).get("with_all_fixes"))):
        kind = "confirmed" if each["finite"] else "ineffective"
        yield f'<p><span class="badge {kind}">{kind}</span> {escape(each["note"])}</p>'
    if proof is not None and proof.get("further_steps"):
        yield f"<p>{escape(proof['further_steps']['note'])}</p>"


def plot(steps: Sequence[int], values: Sequence[object]) -> str:
    """A line over the steps, logarithmic where the values span more than two decades; bad values as dots."""
    known = [(step, value) for step, value in zip(steps, values, strict=True) if _finite(value)]
    bad = [(step, value) for step, value in zip(steps, values, strict=True) if isinstance(value, str)]
    if not known:
        return "<p>No finite value.</p>"
    numbers = [value for _, value in known]
    logarithmic = min(numbers) > 0 and max(numbers) / min(numbers) > 100
    heights = [math.log10(value) if logarithmic else value for value in numbers]
    low, high = min(heights), max(heights)
    first, last = min(steps), max(steps)

    def across(step: int) -> float:
        return _LEFT + (step - first) / max(last - first, 1) * (_WIDTH - _LEFT - _RIGHT)

    def up(height: float) -> float:
        return 10 + (high - height) / ((high - low) or 1) * (_HEIGHT - _BOTTOM - 16)

    points = " ".join(
        f"{across(step):.1f},{up(height):.1f}" for (step, _), height in zip(known, heights, strict=True)
    )
    dots = "".join(f'<circle class="bad" cx="{across(step):.1f}" cy="10" r="4"/>' for step, _ in bad)
    dots += "".join(
        f'<text class="bad-text" x="{across(step) - 8:.1f}" y="14" text-anchor="end">{escape(value)}</text>'
        for step, value in bad[-1:]
    )
    if len(known) == 1:
        dots += f'<circle class="one" cx="{across(known[0][0]):.1f}" cy="{up(heights[0]):.1f}" r="3"/>'
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    middle = (_LEFT + right) / 2
    scale = (
        f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">log scale</text>' if logarithmic else ""
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{right}" y2="{base}"/>'
        f'<polyline class="line" points="{points}"/>{dots}'
        f'<text x="{_LEFT - 6}" y="14" text-anchor="end">{_short(max(numbers))}</text>'
        f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{_short(min(numbers))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">step {first}</text>{scale}'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">step {last}</text></svg>'
    )


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _short(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)
