"""One self-contained page on an audit: what failed, every other check, and histograms of what was seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from stablelint.report.audit.text import MARKS, counted
from stablelint.report.context import Context
from stablelint.report.page import page
from stablelint.report.tables import at

_WIDTH, _HEIGHT, _BASE = 240, 90, 72


def render(audit: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    return page(
        "audit", [f"<p>{counted(audit)}</p>", *_sections(audit["checks"]), *_histograms(audit)], "audit"
    )


def _sections(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What failed or warned comes first, then the others by family."""
    for status in ("failed", "warned"):
        yield from _section(status, [one for one in checks if one["status"] == status])
    others = [one for one in checks if one["status"] not in ("failed", "warned")]
    for family, members in groupby(others, key=lambda one: one["family"]):
        yield from _section(family, members)


def _section(title: str, checks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    if rows := "\n".join(map(_row, checks)):
        yield f"<h2>{escape(title)}</h2>\n<table>\n{rows}\n</table>"


def _row(one: Mapping[str, Any]) -> str:
    parts = [f"<strong>{escape(one['sentence'])}</strong> <code>{escape(one['check'])}</code>"]
    parts.append(f"<p>{escape(one['evidence'])}</p>")
    if one["filename"] is not None:
        place = at(one, Context(os.getcwd()))
        parts.append(f"<p><code>{escape(one['expression'])}</code> {escape(place)}</p>")
    if one["remedy"]:
        parts.append(f'<p class="remedy">{escape(one["remedy"])}</p>')
    kind = "unseen" if one["status"] == "not seen" else one["status"]
    return f'<tr class="{kind}"><td>{MARKS[one["status"]]}</td><td>{"".join(parts)}</td></tr>'


def _histograms(audit: Mapping[str, Any]) -> Iterator[str]:
    if audit["histograms"]:
        yield "<h2>values</h2>\n" + '<div class="histograms">'
        yield from map(_histogram, audit["histograms"])
        yield "</div>"


def _histogram(one: Mapping[str, Any]) -> str:
    counts = one["counts"]
    tallest, width = max(counts, default=1) or 1, _WIDTH / max(len(counts), 1)
    bars = "".join(
        f'<rect x="{index * width:.1f}" y="{_BASE - _BASE * count / tallest:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{_BASE * count / tallest:.1f}"><title>{count}</title></rect>'
        for index, count in enumerate(counts)
    )
    ends = (
        f'<text x="0" y="{_HEIGHT - 4}">{one["low"]:.3g}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">{one["high"]:.3g}</text>'
    )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{bars}{ends}</svg>'
        f"<figcaption>{escape(one['title'])}</figcaption></figure>"
    )
