"""Where a guard writes besides what it raises: a log of JSON lines, and a TensorBoard writer."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Mapping
from typing import Protocol

from stablelint.runtime.guard.reporting.event import Event
from stablelint.runtime.plain import Json

_SCALARS_EVERY = 10


class Writer(Protocol):
    """What a TensorBoard `SummaryWriter` answers to, as far as the guard speaks to it."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """Write a number."""

    def add_text(self, tag: str, text_string: str, global_step: int) -> object:
        """Write a text."""


class Records:
    """Appends reports to a log and tells a writer the course of the run; a log that cannot be written is said so."""

    def __init__(self, log: str | os.PathLike[str] | None = None, writer: Writer | None = None) -> None:
        self._log = log
        self._writer = writer
        self._lock = threading.Lock()

    def on_step(self, step: int, loss: float | None, norm: float | None) -> None:
        """Hand the numbers of every tenth step to the writer."""
        if self._writer is None or step % _SCALARS_EVERY:
            return
        for tag, value in (("stablelint/loss", loss), ("stablelint/gradient_norm", norm)):
            if value is not None:
                self._writer.add_scalar(tag, value, step)

    def on_report(self, event: Event, payload: Mapping[str, Json]) -> None:
        """Append a report to the log and show its event to the writer."""
        if self._writer is not None:
            self._writer.add_text("stablelint/event", event.describe(), event.step)
        if self._log is None:
            return
        try:
            with self._lock, open(self._log, "a", encoding="utf-8") as file:
                file.write(json.dumps(payload) + "\n")
        except OSError as error:
            warnings.warn(f"cannot write {os.fspath(self._log)}: {error.strerror}", stacklevel=2)
