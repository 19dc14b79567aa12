"""An audit for people: what failed or warned with its evidence and remedy, then every check; a page has histograms, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from stablelint.report.cells import hung, plain
from stablelint.report.context import Context, Sources
from stablelint.report.page import page, table
from stablelint.report.parts import Head, Note, Part, Place, as_page, as_text

_SIGNS = {"failed": "✗", "warned": "!", "passed": "✓", "not seen": "·"}
_TONES = {"failed": "error", "warned": "warning", "passed": "added", "not seen": "dim"}
_WIDTH, _HEIGHT, _BASE = 240, 90, 72


def render(audit: Mapping[str, Any], context: Context, everything: bool = False) -> str:
    """The report; checks that passed or saw nothing are counted, and listed with `everything`."""
    lines: list[str] = []
    for one in _worst_first(audit):
        lines += [*as_text(_finding(one), context), ""]
    lines += [*_families(audit["checks"], context, everything), "", context.style.bold(_counted(audit))]
    return "\n".join(lines) + "\n"


def render_page(audit: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    sources = Sources()
    parts = [f"<p>{_counted(audit)}</p>"]
    for one in _worst_first(audit):
        parts.append(f'<section class="{one["status"]}">')
        parts += [*as_page(_finding(one), sources), "</section>"]
    rows = [("", "family", "check", "holds where it passes", "seen")]
    for one in audit["checks"]:
        rows.append(
            (_SIGNS[one["status"]], *(one[key] for key in ("family", "check", "sentence", "evidence")))
        )
    parts += ["<h2>every check</h2>", table(rows)]
    drawings = "".join(map(_histogram, audit["histograms"]))
    return page("audit", [*parts, f'<div class="histograms">{drawings}</div>'], "audit")


def _worst_first(audit: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The checks that failed, then those that warned."""
    return [one for status in ("failed", "warned") for one in audit["checks"] if one["status"] == status]


def _counted(audit: Mapping[str, Any]) -> str:
    """How many checks ended how, with the signs that stand for it."""
    counts = ", ".join(f"{sign} {audit['counts'][status]} {status}" for status, sign in _SIGNS.items())
    return f"{counts}; {audit['steps']} optimizer steps were watched"


def _finding(one: Mapping[str, Any]) -> Iterator[Part]:
    yield Head(f"{one['status']}[{one['check']}]", one["evidence"], _TONES[one["status"]])
    yield Place(one, tone=_TONES[one["status"]])
    yield Note("expected", one["sentence"])
    if one["subjects"]:
        yield Note("names", ", ".join(map(plain, one["subjects"][:8])))
    if one["remedy"]:
        yield Note("remedy", one["remedy"])


def _families(checks: Sequence[Mapping[str, Any]], context: Context, everything: bool) -> Iterator[str]:
    """A line a family with the signs of its checks, and with `everything` a line each."""
    style = context.style
    for family, members in groupby(checks, key=lambda one: one["family"]):
        found = [(style.paint(_TONES[one["status"]]), _SIGNS[one["status"]], one) for one in members]
        signs = "".join(paint(sign) for paint, sign, _ in found)
        yield f"{style.bold(family)}{' ' * (13 - len(family))} {signs}"
        for paint, sign, one in found if everything else ():
            lead = f"  {sign} {one['check']:<30} "
            yield from hung(lead, plain(one["evidence"]), context.width, paint(lead))


def _histogram(one: Mapping[str, Any]) -> str:
    counts = one["counts"]
    tallest, width = max(counts, default=1) or 1, _WIDTH / max(len(counts), 1)
    bars = "".join(
        f'<rect x="{index * width:.1f}" y="{_BASE - _BASE * count / tallest:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{_BASE * count / tallest:.1f}"><title>{count}</title></rect>'
        for index, count in enumerate(counts)
    )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{bars}'
        f'<text x="0" y="{_HEIGHT - 4}">{one["low"]:.3g}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">{one["high"]:.3g}</text></svg>'
        f"<figcaption>{escape(one['title'])}</figcaption></figure>"
    )
