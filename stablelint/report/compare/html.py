"""One self-contained page on a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablelint.report.compare.text import parts_of
from stablelint.report.page import page
from stablelint.report.parts import as_page
from stablelint.report.source import Sources


def render(report: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    return page("compare", as_page(parts_of(report), Sources()), "compare")
