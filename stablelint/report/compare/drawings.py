"""Drawings of a comparison: both losses, and the error along the operations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from stablelint.report.page import Axes, curves, legend

_SIZE = {"width": 800, "height": 220}
_SIGNIFICAND = 53  # bits of a double: no error is told below one of its roundings


def losses(runs: Sequence[Mapping[str, Any]]) -> str:
    """The losses of both runs."""
    names = legend(*(run["label"] for run in runs))
    return f"<h3>Loss: {names}</h3><figure>{curves(*(run['losses'] for run in runs), **_SIZE)}</figure>"


def dots(chain: Sequence[Mapping[str, Any]]) -> str:
    """For each operation the bits of its result that the two runs do not share, of 53."""
    bits = [
        (link, max(0.0, _SIGNIFICAND + math.log2(max(float(link["error"]), 2.0**-_SIGNIFICAND))))
        for link in chain
    ]
    bits = [(link, min(height, 64.0)) for link, height in bits]
    top = max(height for _, height in bits)
    axes = Axes(0, max(int(link["index"]) for link, _ in bits), 0.0, top, **_SIZE)
    marks = ""
    for number, (link, height) in enumerate(bits):
        x, y = axes.at(int(link["index"]), height)
        title = f"{link['expression']}, line {link['row']}, {link['phase']} of step {link['step']}: {height:.1f} bits"
        kind = "dot first" if number == 0 else "dot"
        marks += (
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(title)}</title></circle>'
        )
    title = f"Bits of {_SIGNIFICAND} in which the results differ, along the operations"
    return f"<h3>{title}</h3><figure>{axes.drawn(marks, f'{top:.0f} bits', '0', 'operation')}</figure>"
