"""The state of the probes in one process: calls, ranges and samples, and when they are written."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from unittest.mock import NonCallableMock

import torch

from stablelint.runtime.tensors.measure import dtype_name
from stablelint.runtime.verify.probe.frames import Frame, Frames
from stablelint.runtime.verify.probe.look import (
    Extent,
    Gradients,
    Seen,
    all_finite,
    being_recorded,
    context_of,
    extent_of,
    requires_grad,
)
from stablelint.runtime.verify.probe.plan import REGISTRY
from stablelint.runtime.verify.probe.sample import Sample, Scope, kept, kept_scope
from stablelint.runtime.verify.replay.values import Call, Context, stored_call, write

_SHARE = 0.01  # of the run's time that statistics may take, once the first calls are in
_ALWAYS = 16  # calls of a site that are looked at in full, whatever it costs
_FLUSH_SECONDS = 2.0
_SCOPES = 16  # sites for which the arguments of a failing call are kept
_URGENT = 8  # first failures of a site that are written at once: a process may end without a word


@dataclass(slots=True, weakref_slot=True)
class Watched(Seen):
    """One target in this process."""

    id: str = ""
    operands: tuple[str, ...] = ()
    function: int | None = None
    measured: frozenset[str] = frozenset()
    looked_at: int = 0
    sample: Sample = field(default_factory=Sample)
    leaves: weakref.WeakSet[torch.Tensor] = field(default_factory=weakref.WeakSet)

    @property
    def infinite(self) -> bool:
        """Whether infinite operands are usual here, as in a mask."""
        return any(extent.inf for extent in self.extents.values())

    def stored(self) -> dict[str, object]:
        """All that is known of the target, as data for a file."""
        return {
            "id": self.id,
            "counts": self.counts,
            "dtypes": sorted(self.dtypes),
            "extents": {name: astuple(extent) for name, extent in self.extents.items()},
            "kept": [stored_call(call) for call in self.sample.calls()],
        }


def _requiring_grad(operands: Mapping[str, object]) -> frozenset[str]:
    return frozenset(name for name, value in operands.items() if requires_grad(value))


class Recorder:
    """Collects what the probes see. One per process; its threads share it."""

    def __init__(self) -> None:
        self.targets: dict[int, Watched] = {}
        self.functions: dict[int, Scope] = {}  # copies of the arguments of the first call
        self.scopes: dict[int, Scope] = {}  # arguments of the latest call
        self.failing: dict[str, Scope] = {}  # of the first call in which a site went wrong
        self.folder: Path | None = None
        self.listener: Watched | None = None  # while a search runs: the only target that is noted
        self.heard: list[tuple[dict[str, object], Context, object]] = []
        self.origin = "captured"  # of the calls that are kept from now on
        self.mocked = False  # a target gave what stands for a value, and is none
        self.spent = 0.0
        self._searching = False
        self._dirty = self._failed_first = False
        self._urgent = _URGENT
        self.frames = Frames()
        self._gradients = Gradients()
        self._lock = threading.RLock()
        self._started = self._flushed = time.perf_counter()

    def see(self, number: int, index: int, value: object) -> None:
        """Note an operand of the innermost open frame of the target."""
        placed = REGISTRY.placed.get(number)
        if placed is not None and placed.overwrites and isinstance(value, torch.Tensor):
            with contextlib.suppress(Exception):  # what cannot be copied is noted as it is
                value = value.detach().clone().requires_grad_(value.requires_grad)
        self.frames.see(number, index, value)

    def end(self, number: int, frame: Frame | None, value: object) -> None:
        """Close the frame, and look at what went in and what came out."""
        if frame is not None:
            self.frames.close(number, frame)
        watched = self.targets.get(number) or self._adopt(number)
        if watched is None or frame is None:
            return
        operands = {watched.operands[index]: value for index, value in frame.operands.items()}
        if self._searching:
            if watched is self.listener:
                self.heard.append((operands, context_of(operands), value))
            return
        started = time.perf_counter()
        grad = torch.is_grad_enabled()
        with self._lock:
            try:
                # a subclass of Tensor may count or change what is done with it
                with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
                    if being_recorded(operands):
                        watched.compiled += 1
                        return
                    grad = grad and any(requires_grad(item) for item in operands.values())
                    self._look(watched, operands, value, grad)
            except Exception:  # a probe never stops the program: tensors may be without storage
                pass
            now = time.perf_counter()
            self.spent += now - started
            if self._dirty and (self._failed_first or now - self._flushed > _FLUSH_SECONDS):
                self.flush()

    def compiled(self, number: int) -> None:
        """A function that holds the target is being compiled: its calls will not be seen."""
        watched = self.targets.get(number) or self._adopt(number)
        if watched is not None:
            watched.compiled += 1
            self._dirty = True

    def note_raised(self) -> None:
        """Take up the evaluations that raised: their operands may be the very ones that a fix is for.

        Not each of them is an error: a checkpoint stops its recomputation by raising. A replay will tell.
        """
        for number, frame in self.frames.left_open():
            watched = self.targets.get(number) or self._adopt(number)
            if watched is None:
                continue
            watched.raised += 1
            operands = {watched.operands[index]: value for index, value in frame.operands.items()}
            grad = any(requires_grad(item) for item in operands.values())
            watched.grad_calls += grad
            with contextlib.suppress(Exception), torch.no_grad():  # a probe never stops the program
                self._measure(watched, operands, grad)
                if watched.sample.room_for_failing():
                    watched.sample.failing.append(self._call(operands, grad))

    def _adopt(self, number: int) -> Watched | None:
        """Take over a target from the registry, when its first call comes."""
        placed = REGISTRY.placed.get(number)
        if placed is None:
            return None
        if self.folder is None and REGISTRY.plan is not None:
            self.folder = Path(REGISTRY.plan.folder)
        target = placed.target
        measured = target.operands if target.measured is None else target.operands[: target.measured]
        watched = Watched(
            id=target.id, operands=target.operands, function=placed.function, measured=frozenset(measured)
        )
        return self.targets.setdefault(number, watched)

    def _look(self, watched: Watched, operands: dict[str, object], value: object, grad: bool) -> None:
        if isinstance(value, NonCallableMock):
            self.mocked = True
            return
        watched.calls += 1
        self._dirty = True
        watched.grad_calls += grad
        sample = watched.sample
        call: Call | None = None
        if sample.room_for_failing():
            if not all_finite(value):
                watched.bad_results += 1
                if all(all_finite(item, nan_only=True) for item in operands.values()):
                    call = self._call(operands, grad)
                    self._failed_first = not sample.failing and self._urgent > 0
                    self._urgent -= self._failed_first
                    sample.failing.append(call)
                    self._keep_scope(watched, self._scope_of(watched))
            elif grad:
                self._await_gradient(watched, operands)
        elif not all_finite(value):
            watched.bad_results += 1
        # the range of a call that is kept is told beside it
        dear = self.spent > _SHARE * (time.perf_counter() - self._started)
        if call is None and watched.looked_at >= _ALWAYS and dear:
            return
        watched.looked_at += 1
        self._measure(watched, operands, grad, call)

    def _measure(
        self, watched: Watched, operands: dict[str, object], grad: bool, call: Call | None = None
    ) -> None:
        """Ranges, and whether the call is one to keep; `call` is its copy, if there is one already."""
        sample = watched.sample
        for name, item in operands.items():
            row = extent_of(item) if name in watched.measured else None
            if row is None or not isinstance(item, torch.Tensor):
                continue
            watched.dtypes.add(dtype_name(item.dtype))
            watched.extents.setdefault(name, Extent()).add(row)
            for side, score in (("low", row.low), ("high", -row.high), ("small", row.smallest)):
                if score == score and sample.beats((name, side), score):
                    call = call or self._call(operands, grad)
                    sample.extreme[name, side] = (score, call)
        context = context_of(operands)
        dtypes = tuple(v.dtype for v in operands.values() if isinstance(v, torch.Tensor))
        mode = (context.autocast, grad, *dtypes)
        if sample.is_new(mode):
            sample.modes[mode] = call = call or self._call(operands, grad)
        place = sample.draw()
        if place is not None:
            sample.drawn[place : place + 1] = [call or self._call(operands, grad)]

    def _call(self, operands: Mapping[str, object], grad: bool) -> Call:
        mode = replace(context_of(operands), grad=grad)
        return Call(kept(operands), mode, self.origin, needs=_requiring_grad(operands) if grad else None)

    def _await_gradient(self, watched: Watched, operands: dict[str, object]) -> None:
        """Keep the call if a gradient that reaches one of its operands turns out not to be finite."""
        tensors = {name: item.detach() for name, item in operands.items() if isinstance(item, torch.Tensor)}
        aliases = {**operands, **tensors}
        versions = {name: one._version for name, one in tensors.items() if not one.is_inference()}
        context = context_of(operands)
        needs = _requiring_grad(operands)
        scope = self._scope_of(watched)

        def check(gradient: torch.Tensor) -> None:
            if not watched.sample.room_for_failing() or self._gradients.is_finite(gradient):
                return
            with contextlib.suppress(Exception), self._lock, torch.no_grad():
                watched.bad_gradients += 1
                unchanged = all(tensors[name]._version == version for name, version in versions.items())
                if unchanged and watched.sample.room_for_failing():
                    call = Call(kept(aliases), replace(context, grad=True), self.origin, needs=needs)
                    watched.sample.failing.append(call)
                    self._dirty = True
                    self._keep_scope(watched, scope)

        for item in operands.values():
            if isinstance(item, torch.Tensor) and item.requires_grad:
                if item.is_leaf:
                    # a parameter outlives the call: one hook for all of its calls, or they would pile up
                    if item in watched.leaves:
                        continue
                    watched.leaves.add(item)
                item.register_hook(check)

    def _scope_of(self, watched: Watched) -> Scope | None:
        """The arguments of the call that is under way, of the function around the target."""
        return self.scopes.get(watched.function) if watched.function is not None else None

    def _keep_scope(self, watched: Watched, scope: Scope | None) -> None:
        if scope is None or self.origin != "captured" or watched.id in self.failing:
            return
        found = kept_scope(scope) if len(self.failing) < _SCOPES else None
        if found is not None:
            self.failing[watched.id] = found

    def enter(self, function: int, scope: Mapping[str, object]) -> None:
        """Remember the arguments of the first call of a function that holds targets, and those of the latest."""
        if not self._searching:
            self.scopes[function] = Scope(scope, torch.is_grad_enabled())
        if function in self.functions or self._searching:
            return
        # what cannot be copied is not searched from
        with contextlib.suppress(Exception), torch._C.DisableTorchFunctionSubclass():
            copies = {
                name: item.detach().clone() if isinstance(item, torch.Tensor) and name != "self" else item
                for name, item in scope.items()
            }
            self.functions[function] = Scope(copies, torch.is_grad_enabled())

    def listen(self, watched: Watched | None) -> None:
        """During a search: note what this target sees, and nothing else. None ends it."""
        self.listener, self._searching = watched, watched is not None
        self.heard.clear()

    def flush(self) -> None:
        """Write everything known so far; silent when that fails: not even a full disk may stop the run."""
        if self.folder is None:
            return
        with self._lock:
            self._dirty = self._failed_first = False
            self._flushed = time.perf_counter()
            with contextlib.suppress(Exception), torch.no_grad():
                document = {
                    "pid": os.getpid(),
                    "spent": self.spent,
                    "elapsed": time.perf_counter() - self._started,
                    "targets": [watched.stored() for watched in self.targets.values()],
                }
                write(self.folder / f"capture-{os.getpid()}.pt", document)
            self._flushed = time.perf_counter()

    def forked(self) -> None:
        """In a forked child: start with empty hands, so that nothing is counted twice."""
        self._lock = threading.RLock()
        self.frames = Frames()
        self.targets.clear()
        self.functions.clear()
        self.scopes.clear()
        self.failing.clear()
        self._dirty = False
        self._started = self._flushed = time.perf_counter()
        self.spent = 0.0


RECORDER = Recorder()
