"""One self-contained page on a guarded run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stablelint.report.page import page
from stablelint.report.parts import as_page
from stablelint.report.run.text import parts_of, sources_of


def render(reports: Sequence[Mapping[str, Any]]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    sources = sources_of(reports)
    sections = ("\n".join(as_page(parts_of(report), sources)) for report in reports)
    parts = [f'<section class="event">{one}</section>' for one in sections]
    return page("run", parts or ["<p>No NaN and no Inf reached a loss or a gradient.</p>"], "run")
