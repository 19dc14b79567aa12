"""`stablelint.guard`: the watch as a context manager and as a plain object."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self

import torch

from stablelint.runtime.guard import hooks
from stablelint.runtime.guard.event import Event, NonFiniteError
from stablelint.runtime.guard.investigate import investigate
from stablelint.runtime.guard.watch import Alarm, Watch

Reaction = Literal["raise", "warn", "skip"] | Callable[[Event], object]


class Guard:
    """Watches training steps and names the expression behind the first non-finite loss or gradient.

    `on_event` is "raise" (a `NonFiniteError`, before the parameters are written), "warn", "skip" (the step's
    gradients are dropped) or a callable that takes the event.
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        on_event: Reaction = "raise",
        history: int = 64,
        max_events: int = 16,
    ) -> None:
        self.events: list[Event] = []
        self._max_events = max_events
        self._on_event = on_event
        self._lock = threading.Lock()
        self._attached = False
        self.watch = Watch(self._alarm, model, optimizer, history)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch; calling it again changes nothing."""
        if not self._attached:
            self._attached = True
            hooks.attach(self.watch)

    def stop(self) -> None:
        """Stop watching."""
        if self._attached:
            self._attached = False
            hooks.detach(self.watch)

    def _alarm(self, watch: Watch, alarm: Alarm) -> None:
        with self._lock:
            if len(self.events) >= self._max_events:
                return
            event = investigate(watch, alarm).event
            self.events.append(event)
        if callable(self._on_event):
            self._on_event(event)
        elif self._on_event == "raise":
            raise NonFiniteError(event)
        else:
            warnings.warn(event.describe(), RuntimeWarning, stacklevel=2)


guard = Guard
