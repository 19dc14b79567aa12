"""One self-contained page on a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from stablelint.report import compare_tolerance


def render(report: Mapping[str, Any]) -> str:
    """The page; nothing in it is loaded from elsewhere."""
    shared = files("stablelint.report").joinpath("verify.css").read_text(encoding="utf-8")
    body = "\n".join(compare_tolerance.section(report))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>stablelint compare</title>\n<style>\n{shared}</style></head>\n"
        f"<body><main>\n<h1>stablelint compare</h1>\n{body}\n</main></body></html>\n"
    )
