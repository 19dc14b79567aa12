"""Colours, and whether to use them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

from stablelint.records import dataclass

PIPED_WIDTH = 120


def _tone(code: str) -> Callable[[Style, str], str]:
    """A method that wraps text in a terminal code."""

    def painted(style: Style, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if style.enabled and text else text

    return painted


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps text in terminal codes, or leaves it alone."""

    enabled: bool

    bold = _tone("1")  # names and titles
    dim = _tone("2")  # what may be skipped
    error = _tone("1;31")  # bold red
    warning = _tone("1;33")  # bold yellow
    gutter = _tone("1;34")  # bold blue: line numbers and rules
    cause = _tone("36")  # cyan: the steps of a chain
    removed = _tone("31")  # red
    added = _tone("32")  # green

    def paint(self, tone: str) -> Callable[[str], str]:
        """The method of that name."""
        found: Callable[[str], str] = getattr(self, tone)
        return found


PLAIN = Style(enabled=False)


def wants_colour(stream: TextIO) -> bool:
    """Follows NO_COLOR and FORCE_COLOR, then whether `stream` is a terminal that can show colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is likely to read `stream` as it is written."""
    try:
        return stream.isatty()
    except ValueError:  # the stream is closed
        return False


def width_of(stream: TextIO) -> int:
    """Columns of the terminal, or a fixed number where there is none."""
    if not is_terminal(stream) and "COLUMNS" not in os.environ:
        return PIPED_WIDTH
    import shutil

    return max(40, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns)
