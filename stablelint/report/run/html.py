"""One self-contained page on a guarded run: the expression, its operands, loss and norms by layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from stablelint.report.numbers import listed, short
from stablelint.report.page import curves, excerpt, finite, page, table
from stablelint.report.run.text import LAYER, OPERAND, PARAMETER, TITLES, same_values, sources_of
from stablelint.report.source import Sources

_LAYERS = 16


def render(reports: Sequence[Mapping[str, Any]]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    sources = sources_of(reports)
    parts = [part for report in reports for part in _event(report, sources)]
    return page("run", parts or ["<p>No NaN and no Inf reached a loss or a gradient.</p>"], "run")


def _event(report: Mapping[str, Any], sources: Sources) -> Iterator[str]:
    event, cause = report["event"], report["cause"]
    code = f" [{cause['code']}]" if cause["code"] else ""
    yield f'<section class="event"><h2>{TITLES[event["kind"]]}{escape(code)}: {escape(cause["summary"])}</h2>'
    where = [f"{event['phase']} pass of step {event['step']}", event["origin"]]
    where += [f"module {event['module']}"] if event["module"] else []
    where += [f"rank {event['rank']}"] if event["rank"] is not None else []
    where += [f"reaches {event['parameter']}"] if event["parameter"] else []
    yield f'<p class="meaning">{escape(", ".join(where))}</p>'
    if event["filename"] is not None:
        place = event.get("cell") or event["filename"]
        yield f'<p class="place">{escape(place)}:{event["location"]["row"]}</p>'
        yield excerpt(event, sources)
    if cause["derivation"]:
        yield "<ul>" + "".join(f"<li>{escape(step)}</li>" for step in cause["derivation"]) + "</ul>"
    if event["exact"]:
        yield f"<p>{escape(same_values(event).capitalize())}.</p>"
    if event["note"]:
        yield f"<p>{escape(event['note'])}</p>"
    yield from _listing("operand", event["operands"], f"device, {OPERAND}")
    yield from _history(event["history"])
    yield from _listing("parameter", event.get("parameters", ()), PARAMETER)
    yield from _listing("layer", event.get("activations", ()), LAYER)
    yield from _layers(event)
    yield from _fix(report)
    yield "</section>"


def _listing(head: str, items: Sequence[Mapping[str, Any]], columns: str) -> Iterator[str]:
    if items:
        yield table(listed(head, items[:_LAYERS], columns))


def _history(history: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(history) < 2:
        return
    yield '<div class="plots">'
    for title, key in (("loss", "loss"), ("gradient norm", "gradient_norm")):
        yield f"<figure><h3>{title}</h3>{curves([(one['step'], one[key]) for one in history])}</figure>"
    yield "</div>"


def _layers(event: Mapping[str, Any]) -> Iterator[str]:
    records = [record for record in event["history"] if record["layers"]]
    if len(records) < 2:
        return
    yield "<h3>gradient norm by layer</h3>"
    if event["growth"] is not None:
        rates = ", ".join(short(rate) for rate in event["growth"]["learning_rates"])
        yield f"<p>Learning rate {escape(rates)}.{escape(_clipping(event['growth']))}</p>"
    yield '<div class="layers">'
    width = min(len(record["layers"]) for record in records)
    for index in range(min(width, _LAYERS)):
        name = event["layers"][index] if index < len(event["layers"]) else f"parameter {index}"
        norms = [(record["step"], record["layers"][index]) for record in records]
        yield f"<figure>{curves(norms)}<figcaption>{escape(name)}</figcaption></figure>"
    yield "</div>"
    if width > _LAYERS:
        yield f"<p>{width - _LAYERS} more layers are not shown.</p>"


def _clipping(growth: Mapping[str, Any]) -> str:
    typical, last = growth["typical_norm"], growth["last_norm"]
    if not finite(typical) or not finite(last) or last <= 0:
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
