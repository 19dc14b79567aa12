"""A guarded run for people: the expression, why, its operands, the steps before, the fix and its proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from stablelint.report import page
from stablelint.report.context import Context, Sources
from stablelint.report.parts import Code, Head, Note, Part, Place, Rows, as_page, as_text
from stablelint.report.tables import listed, short, spark
from stablelint.runtime.plain import plural

_STEPS_SHOWN = 8
_LAYERS_SHOWN = 6
_PARAMETERS_SHOWN = 3
_ACTIVATIONS_SHOWN = 8
_ON_PAGE = 16  # rows and layers
TITLES = {"nan": "NaN", "inf": "Inf", "gradient-explosion": "exploding gradients"}
"""What an event is called."""


def render(reports: Sequence[Mapping[str, Any]], context: Context) -> str:
    """Every report, blocks apart."""
    blocks = ("\n".join(as_text(parts_of(*one), context)) for one in at_each_place(reports))
    return "\n\n".join(blocks) + "\n" if reports else ""


def render_page(reports: Sequence[Mapping[str, Any]]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    sources = sources_of(reports)
    sections = ("\n".join(as_page(parts_of(*one), sources)) for one in at_each_place(reports))
    parts = [f'<section class="event">{one}</section>' for one in sections]
    return page.page("run", parts or ["<p>No NaN and no Inf reached a loss or a gradient.</p>"], "run")


def at_each_place(reports: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Sequence[int]]]:
    """The first report on each expression, and the later steps at which it went wrong in the same way."""
    same: dict[str, list[Mapping[str, Any]]] = {}
    for report in reports:
        event = report["event"]
        known = [event[key] for key in ("filename", "location", "operation", "phase", "origin", "rank")]
        same.setdefault(str(known), []).append(report)
    for first, *later in same.values():
        yield first, [one["event"]["step"] for one in later]


def sources_of(reports: Sequence[Mapping[str, Any]]) -> Sources:
    """The text that the reports point into: files, and what was never in one."""
    events = [report["event"] for report in reports]
    return Sources({one["filename"]: one["source"].encode() for one in events if one.get("source")})


def parts_of(report: Mapping[str, Any], again: Sequence[int] = ()) -> Iterator[Part]:
    """The report on one event, which comes `again` at later steps."""
    event, cause = report["event"], report["cause"]
    code = cause.get("code")
    yield Head(TITLES.get(event["kind"], event["kind"]) + (f"[{code}]" if code else ""), cause["summary"])
    yield Place(event, _label(event))
    yield from _notes(report)
    if again:
        more = ", …" if len(again) > _STEPS_SHOWN else ""
        yield Note("again", f"step {', '.join(map(str, again[:_STEPS_SHOWN]))}{more}")
    yield Rows(listed("operand", event["operands"], "shape, dtype, min, max, zeros=zero, nan, inf"))
    yield from _element(event.get("element"))
    yield from _batch(event.get("batch", ()))
    yield from _history(event["history"])
    yield from (Note("warned", _warned(warned)) for warned in event.get("warned", ()))
    yield from _growth(event)
    yield _parameters(event.get("parameters", ()))
    yield from _activations(event.get("activations", ()))
    yield from _fix(report)


def _parameters(items: Sequence[Mapping[str, Any]]) -> Rows:
    """The first few of a table that a page shows longer."""
    shown, longer = (
        listed("parameter", items[:most], "norm, min, max, nan, inf")
        for most in (_PARAMETERS_SHOWN, _ON_PAGE)
    )
    return Rows(shown, (lambda: page.table(longer)) if items else None)


# Origins that tell no more than the line that is shown, or the module that is named.
_PLAIN = ("function", "module-forward", "unknown")


def _label(event: Mapping[str, Any]) -> str:
    if event["kind"] == "gradient-explosion":
        return "overflows here"
    value = TITLES.get(event["kind"], "")
    return f"{value} in its gradient" if event["phase"] == "backward" else f"{value} here"


def _notes(report: Mapping[str, Any]) -> Iterator[Part]:
    event, cause = report["event"], report["cause"]
    where = f"{event['phase']} pass of step {event['step']}"
    if event["origin"] not in _PLAIN:
        where += f", {event['origin'].replace('-', ' ')}"
    if event["module"]:
        where += f", module {event['module']}"
    if event["rank"] is not None:
        where += f", rank {event['rank']}"
    yield Note("where", where)
    if event["parameter"]:
        yield Note("reaches", event["parameter"])
    yield from (Note("because", step) for step in cause["derivation"])
    if replayed := same_values(event) or event["note"]:
        yield Note("replay", replayed)
    if event["exact"] and event["note"]:
        yield Note("note", event["note"])
    if cause.get("code"):
        yield Note("page", f"stablelint rule {cause['code']}")


def same_values(event: Mapping[str, Any]) -> str:
    """What shows that the replay was of the same step, in a sentence; nothing where it was not."""
    if not event["exact"]:
        return ""
    names = ", ".join(event["compared"])
    return f"the replayed step gave the same values, bit for bit ({names})"


def _element(element: Mapping[str, Any] | None) -> Iterator[Part]:
    """Which element is the first to go wrong."""
    if element and element["index"]:
        terms = "".join(f", {what} {number}" for what, number in element["terms"].items())
        place = f"[{', '.join(str(one) for one in element['index'])}]{terms}"
        values = ", ".join(f"{name} = {short(value)}" for name, value in element["operands"].items())
        yield Note("first bad element", f"{place}: {values}" if values else place, apart=True)


def _batch(batch: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """How far the batch is from the others."""
    keys = ("mean", "std", "largest")
    rows: list[tuple[str, ...]] = [("batch", *keys)]
    for one in batch:
        numbers = [one[key] for key in keys]
        rows.append((f"this {one['name']}".rstrip(), *(short(number["value"]) for number in numbers)))
        ranges = (" to ".join(dict.fromkeys(map(short, number["others"]))) for number in numbers)
        rows.append((plural(one["others"], "other"), *ranges))
    yield Rows(rows)


def _history(history: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    if len(history) > 1:
        rows = [
            (str(one["step"]), short(one["loss"]), short(one["gradient_norm"]))
            for one in history[-_STEPS_SHOWN:]
        ]
        yield Rows([("step", "loss", "gradient norm"), *rows], lambda: _curves(history))


def _curves(history: Sequence[Mapping[str, Any]]) -> str:
    drawings = (
        f"<figure><h3>{title}</h3>{page.curves([(one['step'], one[key]) for one in history])}</figure>"
        for title, key in (("loss", "loss"), ("gradient norm", "gradient_norm"))
    )
    return f'<div class="plots">{"".join(drawings)}</div>'


def _warned(warned: Mapping[str, Any]) -> str:
    whence = "learned from the steps before it" if warned["learned"] else "given"
    layer = f", most of it in {warned['layer']} ({short(warned['layer_norm'])})" if warned["layer"] else ""
    limit = f"the limit of {short(warned['limit'])}, {whence}"
    return f"step {warned['step']}: gradient norm {short(warned['norm'])}, beyond {limit}{layer}"


def _activations(layers: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Of layers that grew the most or are not finite, in the order of their calls, what they handed out."""
    shown = sorted(layers, key=_grown, reverse=True)[:_ACTIVATIONS_SHOWN]
    yield Rows(
        listed("layer", [one for one in layers if one in shown], "mean, std, largest, step before=before")
    )


def _grown(layer: Mapping[str, Any]) -> float:
    now, before = layer["largest"], layer["before"]
    if not isinstance(now, float | int):
        return float("inf")
    return now / before if isinstance(before, float | int) and before else now


def _growth(event: Mapping[str, Any]) -> Iterator[Part]:
    rows = [("gradient norm by layer", "first", "last", "")]
    layers = list(_norms_by_layer(event))
    drawn = (lambda: _layers(layers)) if any(len(norms) > 1 for _, norms in layers) else None
    if event["growth"]:
        grown = [(name, [norm for _, norm in norms if page.finite(norm)]) for name, norms in layers]
        grown = [(name, norms) for name, norms in grown if norms]
        grown.sort(key=lambda one: one[1][-1] / (one[1][0] or 1.0), reverse=True)
        for name, norms in grown[:_LAYERS_SHOWN]:
            rows.append((name, short(norms[0]), short(norms[-1]), spark(norms)))
    yield Rows(rows, drawn)
    if event["growth"]:
        rates = ", ".join(map(short, event["growth"]["learning_rates"]))
        yield Note("learning rate", rates or "unknown")
        yield from (Note("clipping", text) for text in _clipping(event["growth"]))


def _norms_by_layer(event: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[float, Any]]]]:
    """The gradient norms of each parameter, with the steps that they are of."""
    shown = [record for record in event["history"] if record["layers"]]
    for name, column in zip(
        event["layers"], zip(*(one["layers"] for one in shown), strict=False), strict=False
    ):
        yield name, [(one["step"], norm) for one, norm in zip(shown, column, strict=True)]


def _layers(layers: Sequence[tuple[str, list[tuple[float, Any]]]]) -> str:
    drawings = (
        f"<figure>{page.curves(norms)}<figcaption>{escape(name)}</figcaption></figure>"
        for name, norms in layers[:_ON_PAGE]
    )
    more = f"<p>{len(layers) - _ON_PAGE} more layers are not shown.</p>" if len(layers) > _ON_PAGE else ""
    return f'<h3>gradient norm by layer</h3><div class="layers">{"".join(drawings)}</div>{more}'


def _clipping(growth: Mapping[str, Any]) -> Iterator[str]:
    """What clipping would have done to the step, where norms are known."""
    typical, last = growth["typical_norm"], growth["last_norm"]
    if isinstance(typical, float) and isinstance(last, float) and last > 0:
        scale = min(1.0, typical / last)
        yield f"clipping at the usual norm, {typical:.3g}, would have scaled the last step by {scale:.3g}"


def _fix(report: Mapping[str, Any]) -> Iterator[Part]:
    fix, proof = report["fix"], report["verification"]
    if fix is None:
        if report.get("fix_withheld"):
            yield Note("no fix", report["fix_withheld"])
        return
    if proof is not None and not proof["finite"]:
        yield Note("not alone", proof["note"])
    yield Note(f"fix ({fix['applicability']})", fix["message"], apart=True)
    yield Code(fix["diff"].splitlines()[2:])
    if proof is None:
        yield Note("not tried", "the step could not be replayed up to its end")
        return
    decided = deciding(proof)
    verdict = ("confirmed", True) if decided["finite"] else ("refuted", False)
    yield Note("replayed with the fix", decided["note"], verdict)
    if proof.get("further_steps"):
        yield Note("further steps", proof["further_steps"]["note"])


def deciding(proof: Mapping[str, Any]) -> Mapping[str, Any]:
    """The replay that speaks of the fix which is shown: its own, or that of all fixes of the file."""
    return proof.get("with_all_fixes") or proof
