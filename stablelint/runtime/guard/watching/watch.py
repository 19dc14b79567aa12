"""The cheap watch over every step, and what it remembers so that a step can run again.

Per step: one look at the loss, one fused norm over the gradients (the clip norm instead, where there is one),
the state of the random generators, and the buffers that were written. Everything else happens on alarm.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from types import FrameType
from typing import Any

import torch

from stablelint.runtime.guard.reporting.event import Warned
from stablelint.runtime.guard.source.outer import OuterNames
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.activations import Activations
from stablelint.runtime.guard.watching.checks import Checks, NormLimit, is_written_by_program
from stablelint.runtime.guard.watching.history import History, Meter
from stablelint.runtime.guard.watching.step_state import (
    Alarm,
    Boundary,
    StepState,
    buffers_in,
    follower,
    mark_boundary,
    roots_in,
)
from stablelint.runtime.program.frames import step_frames
from stablelint.runtime.tensors.measure import sum_of, tensors_in
from stablelint.runtime.tensors.names import Names, parameters_of
from stablelint.runtime.tracing import hooks

_BATCHES_AHEAD = 1024  # that workers are asked for
_LOOK_FOR_RANKS_EVERY = 64


class _Threads(threading.local):
    """The step under way in each thread."""

    def __init__(self, make: Callable[[], StepState]) -> None:
        self.state = make()


class Watch(hooks.Observer):
    """Follows the steps of this process and calls `on_alarm` at the first that goes wrong.

    With `optimizer` or `model` given it watches these; otherwise whatever steps. `on_alarm` may raise;
    `on_step` is told every step's number, loss and gradient norm.
    """

    def __init__(
        self,
        on_alarm: Callable[[Watch, Alarm], None],
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        history: int = 64,
        parameters_every: int = 50,
        on_step: Callable[[int, float | None, float | None], None] | None = None,
        on_warned: Callable[[Warned], None] = lambda _: None,
        norm_limit: float | None = None,
        skip: Sequence[str] = (),
    ) -> None:
        self.steps = 0  # in all threads
        self.scalers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.model = model
        self._history_length = history
        self.skip = tuple(skip)
        self.activations: Activations | None = None
        self.roots: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet([model] if model is not None else [])
        self._names = Names()
        self._limit = NormLimit(norm_limit, on_warned, self._names)
        self.warned = self._limit.warned
        self._checks = Checks(lambda alarm: on_alarm(self, alarm), self._limit.look, self.looked_at)
        self.on_step = on_step
        self._only = optimizer
        self._home = threading.get_ident()
        self._parameters_every = parameters_every
        self._local = _Threads(self._new_state)
        if model is not None:
            self._names.learn(dict(model.named_parameters()))
        self._distributed = ranks.are_several()
        self.state.boundaries.append(Boundary(self.state.random.take()))

    @property
    def state(self) -> StepState:
        """The step under way in the calling thread."""
        return self._local.state

    @property
    def history(self) -> History:
        """The last steps of the calling thread."""
        return self.state.history

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The optimizers that the calling thread steps."""
        return list(self.state.optimizers)

    @property
    def stepped(self) -> bool:
        """Whether an optimizer has written the parameters at least once."""
        return self.steps > 0 or self.state.written

    @property
    def step(self) -> int:
        """Steps taken by the calling thread."""
        return self.state.step

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Read the loss where that is free; on an accelerator keep it until the gradients are read."""
        state = self._local.state
        if not state.watched:
            return
        state.backward_calls += 1
        if state.backward_calls > 1:
            state.accumulates = True
        if not losses or state.scaled:
            return
        loss = losses[0]
        if not self._distributed and loss.is_cpu:
            state.loss = value = sum_of(losses)
            if not math.isfinite(value):
                self._checks.loss(state, loss, value)
        else:
            state.pending.extend(loss.detach() for loss in losses)

    def after_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Where gradients accumulate over several calls, look after each, so that the guilty one is known."""
        state = self._local.state
        if state.accumulates and not state.scaled and not self._distributed:
            for optimizer, meter in list(state.optimizers.items()):
                self._checks.gradients(state, parameters_of(optimizer), optimizer, meter, after_backward=True)
            mark_boundary(state, state.random.take())

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The check of the step: losses still unread, then all gradients at once."""
        state = self._local.state
        if not self._is_watched(state, optimizer):
            return None
        meter = state.optimizers.get(optimizer)
        if meter is None:
            meter = state.optimizers[optimizer] = self._meter_for(optimizer)
            state.sees_new = True
        if state.dropped:
            self._drop(state)
            return None
        if len(args) > 1 or kwargs:
            watched = hooks.with_closure(args, kwargs, partial(self._watched_closure, optimizer, meter))
            if watched is not None:
                return watched
        if meter.sharded:
            losses, state.pending = state.pending, []
            self._checks.with_other_ranks(state, parameters_of(optimizer), optimizer, meter, losses)
            return None
        if state.pending:
            losses = state.pending
            state.pending = []
            self._checks.loss(state, losses[-1], sum_of(losses))
        # A fused optimizer under a scaler skips the step itself.
        if getattr(optimizer, "found_inf", None) is None:
            self._checks.gradients(state, parameters_of(optimizer), optimizer, meter)
        return None

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The step is over: what the next one starts from is remembered."""
        state = self._local.state
        if not self._is_watched(state, optimizer):
            return
        if state.step % self._parameters_every == 0 or is_written_by_program(optimizer):
            self._checks.parameters(state, optimizer)
        self._end_step(state)

    def step_by_hand(self, loss: torch.Tensor | None) -> None:
        """The check of a step that no optimizer takes; its gradients are those of the model."""
        state = self.state
        if (following := follower()) is not None:
            if loss is not None:
                following.before_backward((loss,))
            following.on_step(None)
            return
        if loss is not None and state.loss is None:
            self._checks.loss(state, loss, sum_of((loss,)))
        if self.model is not None:
            self._checks.gradients(state, list(self.model.parameters()), None, state.meter)
        self._end_step(state)

    def on_fetch(self, iterator: object, batch: object) -> None:
        """A loader handed out a batch: the loop body starts here."""
        state = self.state
        if state.watched:
            state.fetched, state.fetched_from = batch, weakref.ref(iterator)
            state.last_of[iterator] = batch
            drawn = state.indices.get(iterator)
            state.fetched_index = drawn.popleft() if drawn else None
            state.batches.look(batch)
            state.boundaries.append(Boundary(state.random.take()))

    def on_index(self, iterator: object, index: object) -> None:
        """A loader has drawn the samples of a batch, which is not always the next one."""
        state = self.state
        if state.watched:
            state.indices.setdefault(iterator, deque(maxlen=_BATCHES_AHEAD)).append(index)

    def on_take(self, source: object, item: object) -> None:
        """The program has taken an item of a queue."""
        state = self.state
        if state.watched:
            state.last_of[source] = item

    @contextmanager
    def repeating(self, closure: Callable[[], object]) -> Iterator[None]:
        """Until the end of the context, what goes wrong is repeated by calling `closure`."""
        state = self.state
        start = Boundary(state.random.take())
        state.boundaries.append(start)
        state.closure, state.closure_start = closure, start
        state.closure_names = OuterNames.of(closure)
        try:
            yield
        finally:
            state.closure = state.closure_start = state.closure_names = None

    def on_scale(self, scaler: object, outputs: object) -> None:
        """A scaled loss: the factor may overflow gradients on purpose, the loss itself may not."""
        self.scalers.add(scaler)
        losses = tuple(tensors_in(outputs))
        state = self.state
        if state.watched and losses and getattr(scaler, "is_enabled", lambda: True)():
            self._checks.loss(state, losses[0], sum_of(losses))
            state.scaled = True

    def on_clip(self, total_norm: torch.Tensor, count: int) -> None:
        """Clipping measured the gradients already."""
        state = self.state
        if state.watched:
            state.clip_norm, state.clip_count = total_norm, count

    def on_shown(self, tensor: torch.Tensor, frame: FrameType) -> None:
        """A value that is not finite is shown; where no optimizer steps, that is all there is to be seen."""
        state = self.state
        if (following := follower()) is not None:
            following.on_shown(tensor)
        elif state.watched and not self.stepped:
            value = sum_of((tensor,)) if tensor.numel() == 1 else None
            self._checks.on_alarm(
                Alarm(max(state.backward_calls - 1, 0), value, None, True, None, frame, shown=tensor)
            )

    def skip_step(self) -> None:
        """Drop the gradients of the step under way: an optimizer passes over parameters without one."""
        state = self.state
        state.dropped = True
        self._drop(state)

    def parameters(self) -> dict[str, torch.Tensor]:
        """Every watched parameter by name (the model's names, or the place in the optimizer)."""
        mine = list(self.model.parameters()) if self.model is not None else []
        return self._names.with_own_names(
            [*mine, *(one for each in self.optimizers for one in parameters_of(each))]
        )

    def learn(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take names of parameters from modules that were found while the program ran."""
        self._names.learn(tensors)

    def parameter_names(self, optimizer: torch.optim.Optimizer | None) -> list[str]:
        """Names in the order of the norms by layer."""
        state = self.state
        meter = state.optimizers.get(optimizer, state.meter) if optimizer is not None else state.meter
        return self._names.in_order(meter.measured)

    def looked_at(self, parameters: list[torch.Tensor]) -> list[torch.Tensor]:
        """Those of the parameters whose names are not to be skipped."""
        return (
            [one for one in parameters if not self.skips(self._names.get(one))] if self.skip else parameters
        )

    def skips(self, name: str | None) -> bool:
        """Whether a parameter of that name is not looked at."""
        return name is not None and any(fnmatch(name, pattern) for pattern in self.skip)

    def _meter_for(self, optimizer: torch.optim.Optimizer) -> Meter:
        self._distributed = ranks.are_several()
        if self.model is None:
            roots = roots_in(step_frames(sys._getframe(1)))
            self.roots.update(roots.values())
            trained = [name for name, root in roots.items() if next(root.parameters(), None) is not None]
            for name, root in roots.items():
                prefix = f"{name}." if len(trained) > 1 else ""
                self._names.learn({f"{prefix}{path}": one for path, one in root.named_parameters()})
        meter = Meter(self._distributed and ranks.are_sharded(parameters_of(optimizer)))
        meter.limit = math.inf if self._limit.given is None else self._limit.given
        return meter

    def _new_state(self) -> StepState:
        """What a thread begins with: what was given is taken to be trained by the thread that gave it."""
        given = self._only is not None or self.model is not None
        state = StepState(
            history=History(self._history_length), watched=not given or threading.get_ident() == self._home
        )
        if state.watched and self._only is not None:
            state.optimizers[self._only] = self._meter_for(self._only)
        if state.watched and self.model is not None:
            state.buffers.watch(tuple(self.model.buffers()))
        return state

    def _is_watched(self, state: StepState, optimizer: torch.optim.Optimizer) -> bool:
        """Whether a step of this optimizer in this thread is one of those to be watched."""
        if self._only is not None:
            state.watched = state.watched or optimizer is self._only
            return optimizer is self._only
        if not state.watched and self.model is not None:
            own = {id(parameter) for parameter in self.model.parameters()}
            state.watched = any(id(parameter) in own for parameter in parameters_of(optimizer))
        return state.watched

    def _drop(self, state: StepState) -> None:
        for optimizer in list(state.optimizers):
            for parameter in parameters_of(optimizer):
                parameter.grad = None

    def _end_step(self, state: StepState) -> None:
        if self.on_step is not None and not state.dropped:
            self.on_step(state.step, *state.history.last())
        state.step = step = state.step + 1
        self.steps += 1
        if self.model is None and (state.sees_new or step & (step - 1) == 0):
            # Which modules train is learned from the frames, ever more seldom.
            state.sees_new = False
            state.buffers.watch(buffers_in(step_frames(sys._getframe(1))))
        if step % _LOOK_FOR_RANKS_EVERY == 0:
            self._distributed = ranks.are_several()
        state.begin()
        if self.activations is not None:
            self.activations.end_step()
        state.buffers.take()
        mark_boundary(state, state.random.take())

    def _watched_closure(
        self, optimizer: torch.optim.Optimizer, meter: Meter, closure: Callable[[], object]
    ) -> Callable[[], object]:
        def evaluate() -> object:
            state = self.state
            with self.repeating(closure):
                result = closure()
                if not state.scaled:
                    parameters = parameters_of(optimizer)
                    self._checks.gradients(state, parameters, optimizer, meter, after_backward=True)
            return result

        return evaluate
