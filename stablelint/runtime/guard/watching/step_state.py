"""What the watch remembers of the step under way, and where in the user's code steps begin and end."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from stablelint.runtime.guard.source.outer import OuterNames
from stablelint.runtime.guard.tensors.batches import BatchRecorder
from stablelint.runtime.guard.watching.history import History, Meter
from stablelint.runtime.program.frames import Site, is_library
from stablelint.runtime.program.nodes import is_top_level
from stablelint.runtime.program.region import Region, place_of, region_at
from stablelint.runtime.tensors.state import BufferRecorder, RandomRecorder, RandomState
from stablelint.runtime.tracing import hooks

_FRAMES_KEPT = 8
_INNER_FRAMES = 3  # between the function that marks a boundary and the user's code at least
_BOUNDARIES = 16
_LOOKUPS_KEPT = 4096
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
    shown: torch.Tensor | None = None  # by a program in which no optimizer steps


@dataclass(slots=True)
class Carried:
    """Values that names of a loop had when its last step ended."""

    region: Region
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of an instruction that a step boundary passes; `place` is None for a library's."""

    code: CodeType
    offset: int
    place: tuple[int, int] | None
    region: Region | None  # where names are carried on
    outermost: bool


@dataclass(slots=True)
class Boundary:
    """A moment at which a pass through a loop may have begun, and what it began with.

    `places` are the rows and columns at which the frames of the stack stood; none for a loader's batch, after
    which the loop's body always starts.
    """

    random: RandomState
    places: Sequence[Place] = ()
    carried: list[Carried] = field(default_factory=list)

    def place_in(self, code: CodeType) -> tuple[int, int] | None:
        """Where the innermost frame of `code` stood."""
        return next((place.place for place in self.places if place.code is code), None)

    def carried_in(self, region: Region) -> Carried | None:
        """What the innermost frame of the same loop carried on."""
        same = (
            one for one in self.carried if one.region.code is region.code and one.region.row == region.row
        )
        return next(same, None)


class Follower(hooks.Observer):
    """What sees the steps of a thread in the watch's stead."""

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """An optimizer that the replayed code has made is about to step."""
        self.on_step(optimizer)

    def on_step(self, optimizer: torch.optim.Optimizer | None) -> None:
        """The step comes to its end, by an optimizer or by hand."""

    def on_shown(self, tensor: torch.Tensor) -> None:
        """A value that is not finite is printed, read, or handed out by a module."""


def follower() -> Follower | None:
    """What sees the steps of the calling thread in the watch's stead, if anything does."""
    found = hooks.lone_observer()
    return found if isinstance(found, Follower) else None


@dataclass(slots=True)
class StepState:
    """What is known of the step under way."""

    history: History
    watched: bool = True  # the steps of this thread are to be watched
    random: RandomRecorder = field(default_factory=RandomRecorder)
    buffers: BufferRecorder = field(default_factory=BufferRecorder)
    optimizers: weakref.WeakKeyDictionary[torch.optim.Optimizer, Meter] = field(
        default_factory=weakref.WeakKeyDictionary
    )
    meter: Meter = field(default_factory=Meter)  # of the steps that no optimizer takes
    step: int = 0
    sees_new: bool = True  # an optimizer was met for the first time
    written: bool = False  # a step is known to have written the parameters
    boundaries: deque[Boundary] = field(default_factory=lambda: deque(maxlen=_BOUNDARIES))
    stack: Sequence[Place] = ()  # where the frames stood at the last boundary, from the innermost out
    places: Sequence[Place] = ()  # those of them that are user code
    fetched: object = None
    fetched_from: Callable[[], object] = lambda: None  # the loader's iterator, while it lives
    indices: weakref.WeakKeyDictionary[Any, deque[object]] = field(default_factory=weakref.WeakKeyDictionary)
    fetched_index: object = None  # of the samples in it, where the loader has told
    last_of: weakref.WeakKeyDictionary[Any, object] = field(default_factory=weakref.WeakKeyDictionary)
    batches: BatchRecorder = field(default_factory=BatchRecorder)  # of loaders
    backward_calls: int = 0
    accumulates: bool = False
    loss: float | None = None
    pending: list[torch.Tensor] = field(default_factory=list)  # losses on an accelerator, not yet read
    scaled: bool = False
    clip_norm: torch.Tensor | None = None
    clip_count: int = 0
    step_site: Site | None = None  # where the step under way wrote the parameters
    closure: Callable[[], object] | None = None  # repeats the step under way, where the user gave one
    closure_start: Boundary | None = None
    closure_names: OuterNames | None = None  # that it binds, as they were before its call
    dropped: bool = False  # the step went wrong and is passed over
    let_pass: int | None = None  # the last step that went wrong, was reported, and went on all the same

    @property
    def number(self) -> int:
        """Of the step under way; where no optimizer takes it, the number of `backward` calls stands for it."""
        if self.step or self.optimizers:
            return self.step
        return max(self.backward_calls - 1, 0)

    def begin(self) -> None:
        """Forget what belongs to the step before."""
        self.accumulates = self.accumulates and self.backward_calls > 1
        self.backward_calls = 0
        self.scaled = self.dropped = False
        self.clip_norm = self.loss = self.step_site = None
        if self.pending:
            self.pending = []

    def site_of_step(self) -> Site | None:
        """The instruction that took the last step."""
        if self.step_site is None and self.places:
            return Site(self.places[0].code, self.places[0].offset)
        return self.step_site


def mark_boundary(state: StepState, random: RandomState) -> None:
    """Remember this moment, the places of the frames around it, and the values that loops carry on.

    To be called at least three calls deep in this package.
    """
    frame = sys._getframe(_INNER_FRAMES)
    carried = _carried_along(state.stack, frame) if state.stack else None
    if carried is None:
        state.stack = _stack_of(frame)
        state.places = tuple([place for place in state.stack if place.place is not None])
        carried = _carried_along(state.stack, frame) or []
    state.boundaries.append(Boundary(random, state.places, carried))


def _carried_along(stack: Sequence[Place], frame: FrameType | None) -> list[Carried] | None:
    """What the loops around `frame` carry on; None where the frames do not stand as in `stack`."""
    carried: list[Carried] = []
    for place in stack:
        if frame is None or frame.f_code is not place.code or frame.f_lasti != place.offset:
            return None
        if place.region is not None:
            names = frame.f_locals
            values = {name: names[name] for name in place.region.carried if name in names}
            carried.append(Carried(place.region, values))
        frame = frame.f_back
    return carried


def _stack_of(frame: FrameType | None) -> tuple[Place, ...]:
    stack: list[Place] = []
    users = 0
    while frame is not None and users < _FRAMES_KEPT:
        code, offset = frame.f_code, frame.f_lasti
        found = _LOOKED_UP.get((id(code), offset)) or _look_up(code, offset)
        stack.append(found)
        users += found.place is not None
        if found.outermost:
            break
        frame = frame.f_back
    return tuple(stack)


def buffers_in(frames: Iterable[FrameType]) -> tuple[torch.Tensor, ...]:
    """Buffers of every module that a name or an attribute of `self` in user frames holds."""
    found: dict[int, torch.Tensor] = {}
    for module in modules_in(frames):
        with contextlib.suppress(RuntimeError, AttributeError):  # lazy or half-built modules
            found.update((id(buffer), buffer) for buffer in module.buffers())
    return tuple(buffer for buffer in found.values() if buffer.nbytes <= _LARGEST_BUFFER)


def modules_in(frames: Iterable[FrameType]) -> Iterator[torch.nn.Module]:
    """Every module that a name or an attribute of `self` in user frames holds; some more than once."""
    yield from (module for _, module in _named_modules_in(frames))


def roots_in(frames: Iterable[FrameType]) -> dict[str, torch.nn.Module]:
    """The modules that user frames hold and that are no part of another one there, by the names that hold them."""
    found = {id(module): (name, module) for name, module in _named_modules_in(frames)}
    inner = {id(part) for _, one in found.values() for part in one.modules() if part is not one}
    return {name: module for key, (name, module) in found.items() if key not in inner}


def _named_modules_in(frames: Iterable[FrameType]) -> Iterator[tuple[str, torch.nn.Module]]:
    for frame in frames:
        own = getattr(frame.f_locals.get("self"), "__dict__", {})
        for names in (frame.f_locals, frame.f_globals, own):
            yield from ((name, one) for name, one in list(names.items()) if isinstance(one, torch.nn.Module))


_LOOKED_UP: dict[tuple[int, int], Place] = {}  # by identity: hashing a code object is slow


def _look_up(code: CodeType, offset: int) -> Place:
    """Place and region of an instruction, remembered."""
    found = Place(code, offset, None, None, False)
    if not is_library(code.co_filename):
        try:
            region = region_at(code, offset)
        except Exception:  # training goes on, whatever the source looks like
            region = None
        carries = region is not None and region.carried
        outermost = is_top_level(code)
        found = Place(code, offset, place_of(code, offset), region if carries else None, outermost)
    if len(_LOOKED_UP) > _LOOKUPS_KEPT:
        _LOOKED_UP.clear()
    _LOOKED_UP[id(code), offset] = found  # the place keeps the code alive, and so the key valid
    return found
