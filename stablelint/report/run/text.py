"""A guarded run for people: the expression, why, its operands, the steps before, the fix and its proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stablelint.report.cells import lay_out, plain
from stablelint.report.context import Context
from stablelint.report.numbers import short, spark
from stablelint.report.source import Sources
from stablelint.report.tables import headed, listing, note, placed, table

_STEPS_SHOWN = 8
_LAYERS_SHOWN = 6
_PARAMETERS_SHOWN = 3
_ACTIVATIONS_SHOWN = 8
TITLES = {"nan": "NaN", "inf": "Inf", "gradient-explosion": "exploding gradients"}
"""What an event is called."""
OPERAND = "shape, dtype, min, max, zeros=zero, nan, inf"
PARAMETER = "norm, min, max, nan, inf"
LAYER = "mean, std, largest, step before=before"
"""Columns of the tables on operands, parameters and layers."""


def render(reports: Sequence[Mapping[str, Any]], context: Context) -> str:
    """Every report, blocks apart."""
    return "\n\n".join("\n".join(_report(report, context)) for report in reports) + "\n" if reports else ""


def sources_of(reports: Sequence[Mapping[str, Any]]) -> Sources:
    """The text that the reports point into: files, and what was never in one."""
    events = [report["event"] for report in reports]
    return Sources({one["filename"]: one["source"].encode() for one in events if one.get("source")})


def _report(report: Mapping[str, Any], context: Context) -> Iterator[str]:
    event, cause = report["event"], report["cause"]
    code = cause.get("code")
    head = TITLES.get(event["kind"], event["kind"]) + (f"[{code}]" if code else "")
    yield from headed(head, cause["summary"], context, context.style.error)
    yield from placed(event, context, context.style.error, _label(event))
    yield from _notes(report, context)
    yield from listing("operand", event["operands"], OPERAND, context)
    yield from _element(event.get("element"), context)
    yield from _batch(event.get("batch", ()), context)
    yield from _history(event["history"], context)
    for warned in event.get("warned", ()):
        yield from note("warned", _warned(warned), context)
    if event["growth"]:
        yield from _growth(event["growth"], context)
    yield from listing("parameter", event.get("parameters", ())[:_PARAMETERS_SHOWN], PARAMETER, context)
    yield from _activations(event.get("activations", ()), context)
    yield from _fix(report, context)


def _label(event: Mapping[str, Any]) -> str:
    if event["kind"] == "gradient-explosion":
        return "overflows here"
    value = TITLES.get(event["kind"], "")
    return f"{value} in its gradient" if event["phase"] == "backward" else f"{value} here"


def _notes(report: Mapping[str, Any], context: Context) -> Iterator[str]:
    event, cause = report["event"], report["cause"]
    where = f"{event['phase']} pass of step {event['step']}, {event['origin']}"
    if event["module"]:
        where += f", module {event['module']}"
    if event["rank"] is not None:
        where += f", rank {event['rank']}"
    yield from note("where", where, context)
    if event["parameter"]:
        yield from note("reaches", event["parameter"], context)
    for step in cause["derivation"]:
        yield from note("because", plain(step), context)
    replayed = same_values(event) or event["note"]
    if replayed:
        yield from note("replay", replayed, context)
    if event["exact"] and event["note"]:
        yield from note("note", event["note"], context)
    if cause.get("code"):
        yield from note("page", f"stablelint rule {cause['code']}", context)


def same_values(event: Mapping[str, Any]) -> str:
    """What shows that the replay was of the same step, in a sentence; nothing where it was not."""
    if not event["exact"]:
        return ""
    names = ", ".join(event["compared"])
    return f"the step replayed gave the same values, bit for bit ({names})"


def _element(element: Mapping[str, Any] | None, context: Context) -> Iterator[str]:
    """Which element is the first to go wrong."""
    if not element or not element["index"]:
        return
    terms = "".join(f", {what} {number}" for what, number in element["terms"].items())
    place = f"[{', '.join(str(one) for one in element['index'])}]{terms}"
    values = ", ".join(f"{name} = {short(value)}" for name, value in element["operands"].items())
    yield ""
    yield from note("first bad element", f"{place}: {values}" if values else place, context)


def _batch(batch: Sequence[Mapping[str, Any]], context: Context) -> Iterator[str]:
    """How far the batch is from the others."""
    if not batch:
        return
    keys = ("mean", "std", "largest")
    rows: list[tuple[str, ...]] = [("batch", *keys)]
    for one in batch:
        numbers = [one[key] for key in keys]
        rows.append((f"this{one['name']}", *(short(number["value"]) for number in numbers)))
        rows.append(
            (f"{one['others']} others", *(" to ".join(map(short, number["others"])) for number in numbers))
        )
    yield ""
    yield from table(rows, context)


def _history(history: Sequence[Mapping[str, Any]], context: Context) -> Iterator[str]:
    if len(history) < 2:
        return
    rows = [("step", "loss", "gradient norm")]
    for record in history[-_STEPS_SHOWN:]:
        rows.append((str(record["step"]), short(record["loss"]), short(record["gradient_norm"])))
    yield ""
    yield from table(rows, context)


def _warned(warned: Mapping[str, Any]) -> str:
    whence = "learned from the steps before it" if warned["learned"] else "given"
    layer = f", most of it in {warned['layer']} ({short(warned['layer_norm'])})" if warned["layer"] else ""
    limit = f"the limit of {short(warned['limit'])}, {whence}"
    return f"step {warned['step']}: gradient norm {short(warned['norm'])}, beyond {limit}{layer}"


def _activations(layers: Sequence[Mapping[str, Any]], context: Context) -> Iterator[str]:
    """Of layers that grew the most or are not finite, in the order of their calls, what they handed out."""
    told = sorted(layers, key=_grown, reverse=True)[:_ACTIVATIONS_SHOWN]
    yield from listing("layer", [one for one in layers if one in told], LAYER, context)


def _grown(layer: Mapping[str, Any]) -> float:
    now, before = layer["largest"], layer["before"]
    if not isinstance(now, float | int):
        return float("inf")
    return now / before if isinstance(before, float | int) and before else now


def _growth(growth: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield ""
    rows = [("gradient norm by layer", "first", "last", "")]
    for layer in growth["layers"][:_LAYERS_SHOWN]:
        numbers = [value for value in layer["norms"] if isinstance(value, float | int)]
        if numbers:
            rows.append((layer["name"], short(numbers[0]), short(numbers[-1]), spark(numbers)))
    yield from table(rows, context)
    rates = ", ".join(short(rate) for rate in growth["learning_rates"])
    yield from note("learning rate", rates or "unknown", context)
    typical, last = growth["typical_norm"], growth["last_norm"]
    if isinstance(typical, float) and isinstance(last, float) and last > 0:
        scale = min(1.0, typical / last)
        text = f"clipping at the usual norm, {typical:.3g}, would have scaled the last step by {scale:.3g}"
        yield from note("clipping", text, context)


def _fix(report: Mapping[str, Any], context: Context) -> Iterator[str]:
    fix, proof = report["fix"], report["verification"]
    if fix is None:
        if report.get("fix_withheld"):
            yield from note("no fix", plain(report["fix_withheld"]), context)
        return
    if proof is not None and not proof["finite"]:
        yield from note("not alone", plain(proof["note"]), context)
    yield ""
    yield from note(f"fix ({fix['applicability']})", plain(fix["message"]), context)
    yield from _diff(fix["diff"], context)
    if proof is None:
        yield from note("not tried", "the step could not be replayed up to its end", context)
        return
    yield from note("replayed with the fix", _verdict(deciding(proof), context), context)
    if proof.get("further_steps"):
        yield from note("further steps", proof["further_steps"]["note"], context)


def deciding(proof: Mapping[str, Any]) -> Mapping[str, Any]:
    """The replay that speaks of the fix which is shown: its own, or that of all fixes of the file."""
    return proof.get("with_all_fixes") or proof


def _diff(text: str, context: Context) -> Iterator[str]:
    style = context.style
    for line in text.splitlines()[2:]:
        paint = {"+": style.added, "-": style.removed, "@": style.dim}.get(line[:1], str)
        yield f"    {paint(lay_out(line)[0])}"


def _verdict(proof: Mapping[str, Any], context: Context) -> str:
    style = context.style
    verdict = style.added("confirmed") if proof["finite"] else style.error("refuted")
    return f"{verdict}: {plain(proof['note'])}"
