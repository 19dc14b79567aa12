"""What the watch remembers of the step under way, and where in the user's code steps begin and end."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from stablelint.runtime.guard.frames import Site, is_library, step_frames, user_frames
from stablelint.runtime.guard.history import History
from stablelint.runtime.guard.region import Region, place_of, region_at
from stablelint.runtime.guard.state import RandomState

_FRAMES_KEPT = 8
_BOUNDARIES = 16
_LOOKUPS_KEPT = 4096
_FRAMES_SEARCHED = 12
_LARGEST_BUFFER = 1 << 26  # larger ones are tables, not state


@dataclass(frozen=True, slots=True)
class Alarm:
    """A step that went wrong, and the frame in which it was seen."""

    step: int
    loss: float | None
    loss_object: torch.Tensor | None
    in_loss: bool  # the loss itself is not finite
    optimizer: torch.optim.Optimizer | None
    frame: FrameType
    after_backward: bool = False
    closure: Callable[[], object] | None = None


@dataclass(slots=True)
class Carried:
    """Values that names of a loop had when its last step ended."""

    region: Region
    values: dict[str, Any]


@dataclass(slots=True)
class Boundary:
    """A moment at which a pass through a loop may have begun, and what it began with.

    `places` are the rows and columns at which the frames of the stack stood; none for a loader's batch, after
    which the loop's body always starts.
    """

    random: RandomState
    places: dict[CodeType, tuple[int, int]] = field(default_factory=dict)
    carried: dict[tuple[CodeType, int], Carried] = field(default_factory=dict)


@dataclass(slots=True)
class StepState:
    """What is known of the step under way."""

    history: History
    optimizers: weakref.WeakSet[torch.optim.Optimizer] = field(default_factory=weakref.WeakSet)
    step: int = 0
    boundaries: deque[Boundary] = field(default_factory=lambda: deque(maxlen=_BOUNDARIES))
    fetched: object = None
    backward_calls: int = 0
    accumulates: bool = False
    loss: float | None = None
    loss_object: torch.Tensor | None = None
    pending: list[torch.Tensor] = field(default_factory=list)  # losses on an accelerator, not yet read
    scaled: bool = False
    clip_norm: torch.Tensor | None = None
    clip_count: int = 0
    step_site: Site | None = None
    closure: Callable[[], object] | None = None  # repeats the step under way, where the user gave one
    closure_start: Boundary | None = None
    dropped: bool = False  # the step went wrong and is passed over


def mark_boundary(state: StepState, random: RandomState) -> None:
    """Remember this moment, the places of the frames around it, and the values that loops carry on."""
    boundary = Boundary(random)
    state.boundaries.append(boundary)
    frame: FrameType | None = sys._getframe(1)
    kept = 0
    while frame is not None and kept < _FRAMES_KEPT:
        code, offset = frame.f_code, frame.f_lasti
        found = _LOOKED_UP.get((code, offset), _UNKNOWN)
        if found is _UNKNOWN:
            found = _look_up(code, offset)
        if found is not None:
            place, region = found
            if kept == 0:
                state.step_site = Site(code, offset)
            kept += 1
            boundary.places.setdefault(code, place)
            if region is not None:
                names = frame.f_locals
                values = {name: names[name] for name in region.carried if name in names}
                boundary.carried[code, region.row] = Carried(region, values)
            if code.co_name == "<module>":
                return
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """The innermost frame of user code."""
    return next(user_frames(sys._getframe(1), 1), None)


def buffers_in_sight(frame: FrameType | None) -> tuple[torch.Tensor, ...]:
    """Buffers of every module that a name or an attribute of `self` in the user's frames holds."""
    found: dict[int, torch.Tensor] = {}
    for user in step_frames(frame, _FRAMES_SEARCHED):
        values = [*user.f_locals.values(), *user.f_globals.values()]
        values.extend(getattr(user.f_locals.get("self"), "__dict__", {}).values())
        for value in values:
            if isinstance(value, torch.nn.Module):
                with contextlib.suppress(RuntimeError, AttributeError):  # lazy or half-built modules
                    found.update((id(buffer), buffer) for buffer in value.buffers())
    return tuple(buffer for buffer in found.values() if buffer.nbytes <= _LARGEST_BUFFER)


_Place = tuple[tuple[int, int], Region | None]
_UNKNOWN: _Place = ((0, 0), None)
_LOOKED_UP: dict[tuple[CodeType, int], _Place | None] = {}


def _look_up(code: CodeType, offset: int) -> _Place | None:
    """Place and, where names are carried on, region of an instruction; None for a library's. Remembered."""
    found: _Place | None = None
    if not is_library(code.co_filename):
        try:
            region = region_at(code, offset)
        except Exception:  # training goes on, whatever the source looks like
            region = None
        found = place_of(code, offset), region if region is not None and region.carried else None
    if len(_LOOKED_UP) > _LOOKUPS_KEPT:
        _LOOKED_UP.clear()
    _LOOKED_UP[code, offset] = found
    return found
