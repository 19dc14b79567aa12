"""A line that says how far the run is, on a terminal, once the run has taken a while."""

from __future__ import annotations

import sys
import time

from stablelint.report.style import is_terminal

_PATIENCE = 1.0  # seconds
_INTERVAL = 0.1  # seconds


class ProgressLine:
    """Call it with the files done and the files in all; `clear` it before anything else is written."""

    def __init__(self, quiet: bool) -> None:
        self._silent = quiet or not is_terminal(sys.stderr)
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Shows that `done` of `total` files are answered."""
        now = time.monotonic()
        if self._silent or now < self._next:
            return
        self._next = now + _INTERVAL
        self._shown = True
        sys.stderr.write(f"\r\x1b[Kchecking {done:,} of {total:,} files")
        sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
