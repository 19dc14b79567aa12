"""One self-contained page on an audit: every check with its evidence, and histograms of what was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any

from stablelint.report.audit.text import MARKS

_WIDTH, _HEIGHT, _BASE = 240, 90, 72

_STYLE = """
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .5rem 0 1.5rem; }
td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { width: 1.4rem; text-align: center; }
.failed td:first-child { color: var(--bad); font-weight: 700; } .warned td:first-child { font-weight: 700; }
.unseen td { color: var(--muted); } td p { margin: .2rem 0; } .remedy { color: var(--muted); }
.histograms { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .82rem; color: var(--muted); }
svg { width: 100%; height: auto; } svg rect { fill: var(--after); } svg text { fill: var(--muted); font-size: 11px; }
"""


def render(audit: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    shared = files("stablelint.report").joinpath("verify.css").read_text(encoding="utf-8")
    counts = ", ".join(f"{count} {status}" for status, count in audit["counts"].items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stablelint audit</title>\n<style>\n{shared}{_STYLE}</style></head>\n"
        f"<body><main>\n<h1>stablelint audit</h1>\n<p>{counts}; {audit['steps']} optimizer steps were watched</p>\n"
        + "\n".join([*_families(audit), *_histograms(audit)])
        + "\n</main></body></html>\n"
    )


def _families(audit: Mapping[str, Any]) -> Iterator[str]:
    for family, checks in groupby(audit["checks"], key=lambda one: one["family"]):
        rows = "\n".join(map(_row, checks))
        yield f"<h2>{escape(family)}</h2>\n<table>\n{rows}\n</table>"


def _row(one: Mapping[str, Any]) -> str:
    parts = [f"<strong>{escape(one['sentence'])}</strong> <code>{escape(one['check'])}</code>"]
    parts.append(f"<p>{escape(one['evidence'])}</p>")
    if one["filename"] is not None:
        place = f"{one['filename']}:{one['location']['row']}"
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
