"""Two sets of tensors compared within tolerances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stablelint.report import page
from stablelint.report.cells import plain
from stablelint.report.parts import Code, Head, Note, Part, Rows
from stablelint.report.tables import short
from stablelint.runtime.plain import plural, shape_text

_ROWS = 20
_NAMES = 8
_BLOCKS = " ▁▂▃▄▅▆▇█"
_HEADS = tuple(
    "name, shape, dtype, beyond, largest |a-b|, relative, ulps, at, NaN, errors by ulps".split(", ")
)


def parts_of(report: Mapping[str, Any]) -> Iterator[Part]:
    """The verdict in one line, then the values that are apart, the worst first."""
    yield verdict(report, headline(report))
    rows = [cells(one) for one in worst_first(report)]
    yield Rows([_HEADS, *rows[:_ROWS]], (lambda: page.table([_HEADS, *rows])) if rows else None)
    if len(rows) > _ROWS:
        yield Code([f"… and {len(rows) - _ROWS} more"])
    for title, names in sides(report):
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        yield Note(title, ", ".join(names[:_NAMES]) + more)
    for dtypes, pair in _tolerances(report).items():
        yield Note("tolerance", f"{dtypes}: rtol {pair[0]:g}, atol {pair[1]:g}")
    if report["note"]:
        yield Note("note", report["note"])


def verdict(report: Mapping[str, Any], text: str) -> Head:
    """Whether the two are the same, with a sentence."""
    return Head("same", text, "added") if report["same"] else Head("different", text)


def headline(report: Mapping[str, Any]) -> str:
    """What was compared and what came of it, in one sentence."""
    pair = f"{report['first']} and {report['second']}"
    total = len(report["tensors"])
    if report["same"]:
        identical = all(one["identical"] == one["elements"] for one in report["tensors"])
        how = "bit for bit" if identical else "within tolerance"
        return f"{pair}: {plural(total, 'value')} equal {how}"
    parts = [f"{len(worst_first(report))} of {plural(total, 'value')} apart"]
    parts += [
        f"{len(report[key])} {word}"
        for key, word in (("missing", "missing"), ("extra", "extra"))
        if report[key]
    ]
    return f"{pair}: {', '.join(parts)}"


def worst_first(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The values that are apart: those that cannot be compared, then by the largest error in ulps."""

    def key(one: Mapping[str, Any]) -> tuple[bool, int, float]:
        worst = one["ulps"] or one["absolute"]
        return one["problem"] is None, -one["nan_apart"], -float(worst["error"]) if worst else 0.0

    return sorted((one for one in report["tensors"] if not one["same"]), key=key)


def cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A row on one value."""
    if one["problem"] and not one["elements"]:
        return (plain(one["name"]), plain(one["problem"]), *[""] * (len(_HEADS) - 2))
    dtypes = one["dtypes"]
    place = next((one[kind]["index"] for kind in ("ulps", "relative", "absolute") if one[kind]), None)
    nan = f"{one['nan'][0]}/{one['nan'][1]}" if one["nan_apart"] else str(one["nan"][0] or "")
    return (
        plain(one["name"]),
        shape_text(one["shape"]),
        dtypes[0] if dtypes[0] == dtypes[1] else f"{dtypes[0]}/{dtypes[1]}",
        f"{one['beyond']:,} ({one['beyond'] / max(one['elements'], 1):.1%})",
        *(short(one[kind]["error"]) if one[kind] else "" for kind in ("absolute", "relative", "ulps")),
        str(place) if place else "",
        nan,
        bars(one["histogram"]),
    )


def bars(histogram: Sequence[int]) -> str:
    """A histogram as blocks: equal elements, then every doubling of the error."""
    top = max(histogram, default=0)
    marks = (_BLOCKS[-(-count * (len(_BLOCKS) - 1) // top)] if count else " " for count in histogram)
    return "".join(marks).rstrip().replace(" ", "·") if top else ""


def sides(report: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """Names on one side only, with what to call them."""
    if report["missing"]:
        yield f"missing in {report['second']}", report["missing"]
    if report["extra"]:
        yield f"only in {report['second']}", report["extra"]


def _tolerances(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The tolerances that were used, by element type."""
    return {
        "/".join(dict.fromkeys(one["dtypes"])): (one["rtol"], one["atol"])
        for one in report["tensors"]
        if one["elements"] and (one["rtol"] or one["atol"])
    }
