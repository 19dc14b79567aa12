"""What a guarded process remembers of its last steps, for the errors that a traceback alone does not explain."""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from time import process_time, time
from typing import Any

import torch

from stablelint.runtime.program.frames import Site, site_of, user_frame
from stablelint.runtime.tracing import hooks

_KEPT = 4
_LINES_FOR = 2  # backward calls whose graphs know the lines of their nodes


@dataclass(frozen=True, slots=True)
class Mark:
    """A backward call or an optimizer's step: its place, how many autograd nodes had been made, and those of its losses."""

    site: Site | None
    sequence: int
    roots: tuple[int, ...] = ()


class Trail(hooks.Observer):
    """The last backward calls and steps. The graphs of the first pass know their lines; later ones are plain."""

    def __init__(self) -> None:
        self.backwards: deque[Mark] = deque(maxlen=_KEPT)
        self.steps: deque[Mark] = deque(maxlen=_KEPT)
        self.began, self.since = process_time(), time()
        self.folder = Path.cwd()
        self._lines_left = _LINES_FOR
        self._before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    def start(self) -> None:
        """Begin to remember."""
        hooks.attach(self)
        if not self._before[0]:
            torch.autograd.set_detect_anomaly(True, check_nan=False)
            # The mode would print where the node was made; the explanation says it, without frames of this package.
            warnings.filterwarnings("ignore", "Error detected in ", UserWarning)

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Plain graphs from the second backward call on."""
        self._lines_left -= 1
        if self._lines_left <= 0:
            self._plain()

    def after_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Remember the call."""
        roots = tuple(one.grad_fn._sequence_nr() for one in losses if one.grad_fn is not None)
        self.backwards.append(_mark(roots))

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Remember the step."""
        self.steps.append(_mark())

    def _plain(self) -> None:
        own = torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        if own and not self._before[0]:
            torch.autograd.set_detect_anomaly(*self._before)


def _mark(roots: tuple[int, ...] = ()) -> Mark:
    frame = user_frame()
    sequence = torch._C._autograd._get_sequence_nr()
    return Mark(site_of(frame) if frame is not None else None, sequence, roots)
