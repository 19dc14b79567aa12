"""One way to run a step once more."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from stablelint.runtime.guard.source.region import Region
from stablelint.runtime.program.frames import step_frames
from stablelint.runtime.tensors.state import RandomState


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One way to run the step again."""

    run: Callable[[], object]
    random: RandomState | None
    region: Region | None = None
    frame: FrameType | None = None
    until: tuple[CodeType, int] | None = None  # code and row at which the replay has passed the alarm
    values: tuple[tuple[str, Any], ...] = ()  # what names start from, other than the frame's own values
    renewals: tuple[ast.stmt, ...] = ()

    @property
    def globals(self) -> dict[str, Any] | None:
        """The module's names that the replayed code sees."""
        return self.frame.f_globals if self.frame is not None else None

    @property
    def locals(self) -> dict[str, Any] | None:
        """The names around the replayed code: those of its frame and of the user frames that called it."""
        frames = list(step_frames(self.frame)) if self.frame is not None else []
        return {name: value for frame in reversed(frames) for name, value in frame.f_locals.items()} or None
