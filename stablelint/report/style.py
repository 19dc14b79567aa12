"""Colours, and whether to use them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

PIPED_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps text in terminal codes, or leaves it alone."""

    enabled: bool

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text

    def paint(self, tone: str) -> Callable[[str], str]:
        """The method of that name."""
        found: Callable[[str], str] = getattr(self, tone)
        return found

    def bold(self, text: str) -> str:
        """Names and titles."""
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        """What may be skipped."""
        return self._paint("2", text)

    def error(self, text: str) -> str:
        """Bold red."""
        return self._paint("1;31", text)

    def warning(self, text: str) -> str:
        """Bold yellow."""
        return self._paint("1;33", text)

    def gutter(self, text: str) -> str:
        """Bold blue: line numbers and rules."""
        return self._paint("1;34", text)

    def cause(self, text: str) -> str:
        """Cyan: the steps of a chain."""
        return self._paint("36", text)

    def removed(self, text: str) -> str:
        """Red."""
        return self._paint("31", text)

    def added(self, text: str) -> str:
        """Green."""
        return self._paint("32", text)


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
