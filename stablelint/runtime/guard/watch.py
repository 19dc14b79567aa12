"""The cheap watch over every step, and what it remembers so that a step can run again.

Per step: one look at the loss, one fused norm over the gradients (the clip norm instead, where there is one),
the state of the random generators, and the buffers that were written. Everything else happens on alarm.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from stablelint.runtime.guard.frames import Site
from stablelint.runtime.guard.history import History
from stablelint.runtime.guard.norms import all_finite, fused_norms, total_norm
from stablelint.runtime.guard.replay import Replay, sum_of
from stablelint.runtime.guard.state import BufferRecorder, RandomRecorder
from stablelint.runtime.guard.step_state import (
    Alarm,
    Boundary,
    StepState,
    buffers_in_sight,
    mark_boundary,
    user_frame,
)
from stablelint.runtime.guard.trace import tensors_in

_LAYERS_EVERY = 8  # with a clip norm at hand, norms by layer are only taken every so many steps
_LOOK_FOR_RANKS_EVERY = 64


class Watch:
    """Follows the steps of this process and calls `on_alarm` at the first that goes wrong.

    With `optimizer` or `model` given it watches these; otherwise whatever steps. `on_alarm` may raise.
    """

    def __init__(
        self,
        on_alarm: Callable[[Watch, Alarm], None],
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        history: int = 64,
        parameters_every: int = 50,
    ) -> None:
        self._history_length = history
        self.buffers = BufferRecorder()
        self.random = RandomRecorder()
        self.steps = 0  # in all threads
        self.stepped = False  # an optimizer has written the parameters at least once
        self.scalers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._on_alarm = on_alarm
        self._model = model
        self._only = optimizer
        self._parameters_every = parameters_every
        self._local = threading.local()
        self._known: dict[int, list[torch.Tensor]] = {}
        self._names: dict[int, str] = {}
        self._buffers: tuple[torch.Tensor, ...] = tuple(model.buffers()) if model is not None else ()
        if model is not None:
            self._learn_names(model)
        self._begin()
        self.state.boundaries.append(Boundary(self.random.take()))

    @property
    def state(self) -> StepState:
        """The step under way in the calling thread."""
        state: StepState | None = getattr(self._local, "state", None)
        if state is None:
            state = self._local.state = StepState(history=History(self._history_length))
            if self._only is not None:
                state.optimizers.add(self._only)
        return state

    @property
    def history(self) -> History:
        """The last steps of the calling thread."""
        return self.state.history

    @property
    def optimizers(self) -> weakref.WeakSet[torch.optim.Optimizer]:
        """The optimizers that the calling thread steps."""
        return self.state.optimizers

    @property
    def step(self) -> int:
        """Steps taken by the calling thread."""
        return self.state.step

    @property
    def replaying(self) -> Replay | None:
        """The replay under way in the calling thread."""
        replay: Replay | None = getattr(self._local, "replay", None)
        return replay

    @replaying.setter
    def replaying(self, replay: Replay | None) -> None:
        self._local.replay = replay

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Read the loss where that is free; on an accelerator keep it until the gradients are read."""
        if self.replaying is not None:
            self.replaying.before_backward(losses)
            return
        state = self.state
        state.backward_calls += 1
        if state.backward_calls > 1:
            state.accumulates = True
        if not losses or state.scaled:
            return
        if all(loss.device.type == "cpu" for loss in losses) and not self._distributed:
            self._check_loss(state, losses[0], sum_of(losses))
        else:
            state.pending.extend(loss.detach() for loss in losses)

    def after_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Where gradients accumulate over several calls, look after each, so that the guilty one is known."""
        if self.replaying is not None:
            self.replaying.after_backward()
            return
        state = self.state
        if state.accumulates and not state.scaled and not self._distributed:
            for optimizer in list(self.optimizers):
                self._check_gradients(optimizer, state, after_backward=True)
            mark_boundary(state, self.random.take())

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The check of the step: losses still unread, then all gradients at once."""
        if self.replaying is not None:
            self.replaying.before_step(optimizer)
            return None
        if self._only is not None and optimizer is not self._only:
            return None
        self.optimizers.add(optimizer)
        state = self.state
        if state.dropped:
            self._drop()
            return None
        # The positional arguments begin with the optimizer itself.
        closure = kwargs.get("closure") or (args[1] if len(args) > 1 and callable(args[1]) else None)
        if closure is not None:
            watched = self._watched_closure(closure, optimizer)
            if kwargs.get("closure") is not None:
                return args, {**kwargs, "closure": watched}
            return (args[0], watched, *args[2:]), kwargs
        if state.pending:
            self._check_loss(state, state.pending[-1], sum_of(state.pending))
            state.pending.clear()
        if getattr(optimizer, "found_inf", None) is None:
            self._check_gradients(optimizer, state)
        return None

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The step is over: what the next one starts from is remembered."""
        if self.replaying is not None or (self._only is not None and optimizer is not self._only):
            return
        if self.step % self._parameters_every == 0:
            self._check_parameters(optimizer)
        self._end_step()

    def step_by_hand(self, loss: torch.Tensor | None) -> None:
        """The check of a step that no optimizer takes; its gradients are those of the model."""
        if self.replaying is not None:
            if loss is not None:
                self.replaying.before_backward((loss,))
            self.replaying.before_step(None)
            return
        state = self.state
        if loss is not None and state.loss is None:
            self._check_loss(state, loss, sum_of((loss,)))
        if self._model is not None:
            self._check_tensors(list(self._model.parameters()), None, state)
        self._end_step()

    def _end_step(self) -> None:
        self.state.step += 1
        self.steps += 1
        self.stepped = True
        if self._model is None and self.step & (self.step - 1) == 0:
            # Which modules train is learned from the frames, ever more seldom.
            self._buffers = buffers_in_sight(sys._getframe(1))
        self._begin()
        mark_boundary(self.state, self.random.take())

    def _check_parameters(self, optimizer: torch.optim.Optimizer) -> None:
        tensors = [tensor.detach() for tensor in self._of(optimizer)]
        if math.isfinite(total_norm(fused_norms(tensors))) or all_finite(tensors):
            return
        frame = user_frame()
        if frame is not None:
            self.stepped = True
            self.state.step_site = Site(frame.f_code, frame.f_lasti)
            self._on_alarm(self, Alarm(self.step + 1, self.state.loss, None, False, optimizer, frame))

    def on_fetch(self, batch: object) -> None:
        """A loader handed out a batch: the loop body starts here."""
        if self.replaying is None:
            state = self.state
            state.fetched = batch
            state.boundaries.append(Boundary(self.random.take()))

    @contextmanager
    def repeating(self, closure: Callable[[], object]) -> Iterator[None]:
        """Until the end of the context, what goes wrong is repeated by calling `closure`."""
        state = self.state
        start = Boundary(self.random.take())
        state.boundaries.append(start)
        state.closure, state.closure_start = closure, start
        try:
            yield
        finally:
            state.closure = state.closure_start = None

    def on_scale(self, scaler: object, outputs: object) -> None:
        """A scaled loss: the factor may overflow gradients on purpose, the loss itself may not."""
        self.scalers.add(scaler)
        losses = tuple(tensors_in(outputs))
        if self.replaying is not None:
            self.replaying.before_backward(losses)
            return
        state = self.state
        if getattr(scaler, "is_enabled", lambda: True)():
            self._check_loss(state, losses[0], sum_of(losses))
            state.scaled = True

    def on_clip(self, total_norm: torch.Tensor, count: int) -> None:
        """Clipping measured the gradients already."""
        if self.replaying is None:
            self.state.clip_norm, self.state.clip_count = total_norm, count

    def skip_step(self) -> None:
        """Drop the gradients of the step under way: an optimizer passes over parameters without one."""
        self.state.dropped = True
        self._drop()

    def _drop(self) -> None:
        for optimizer in list(self.optimizers):
            for parameter in self._of(optimizer):
                parameter.grad = None

    def parameters(self) -> dict[str, torch.Tensor]:
        """Every watched parameter by name (the model's names, or the place in the optimizer)."""
        named: dict[str, torch.Tensor] = {}
        if self._model is not None:
            named.update(self._model.named_parameters())
        seen = {id(parameter) for parameter in named.values()}
        for optimizer in self.optimizers:
            for index, parameter in enumerate(self._of(optimizer)):
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    named[self._names.get(id(parameter), f"parameter {index}")] = parameter
        return named

    def learn(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take names of parameters from modules that were found while the program ran."""
        for name, tensor in tensors.items():
            self._names.setdefault(id(tensor), name)

    def parameter_names(self, optimizer: torch.optim.Optimizer | None) -> list[str]:
        """Names in the order of the norms by layer."""
        if optimizer is None:
            return []
        tensors = [tensor for tensor in self._of(optimizer) if tensor.requires_grad]
        return [self._names.get(id(tensor), f"parameter {index}") for index, tensor in enumerate(tensors)]

    def _begin(self) -> None:
        if self.step % _LOOK_FOR_RANKS_EVERY == 0:
            self._distributed = _distributed()
        state = self.state
        accumulates = state.accumulates and state.backward_calls > 1
        state.backward_calls = 0
        state.accumulates = accumulates
        state.scaled = False
        state.dropped = False
        state.clip_norm = None
        state.loss_object = None
        state.loss = None
        state.pending.clear()
        if self._buffers:
            self.buffers.take(self._buffers)

    def _check_loss(self, state: StepState, loss: torch.Tensor, value: float) -> None:
        state.loss = value
        if math.isfinite(value):
            return
        found = user_frame()
        if found is not None:
            state.loss_object = loss
            self.history.add(self.step, value, None)
            self._on_alarm(self, Alarm(self.step, value, loss, True, None, found, closure=state.closure))

    def _check_gradients(
        self,
        optimizer: torch.optim.Optimizer,
        state: StepState,
        after_backward: bool = False,
    ) -> None:
        self._check_tensors(self._of(optimizer), optimizer, state, after_backward)

    def _check_tensors(
        self,
        tensors: list[torch.Tensor],
        optimizer: torch.optim.Optimizer | None,
        state: StepState,
        after_backward: bool = False,
    ) -> None:
        layers: tuple[float, ...] = ()
        clipped = state.clip_norm is not None and state.clip_count == len(tensors)
        if clipped and self.step % _LAYERS_EVERY and not after_backward:
            norm = float(state.clip_norm)  # type: ignore[arg-type]
        else:
            layers = fused_norms([grad for tensor in tensors if (grad := tensor.grad) is not None])
            norm = total_norm(layers)
        if not after_backward:
            self.history.add(self.step, state.loss, norm, layers)
        if math.isfinite(norm) or all_finite([tensor.grad for tensor in tensors if tensor.grad is not None]):
            return
        frame = user_frame()
        if frame is not None:
            alarm = Alarm(self.step, state.loss, None, False, optimizer, frame, after_backward, state.closure)
            self._on_alarm(self, alarm)

    def _watched_closure(
        self, closure: Callable[[], object], optimizer: torch.optim.Optimizer
    ) -> Callable[[], object]:
        def evaluate() -> object:
            state = self.state
            if self.replaying is not None:
                return closure()
            with self.repeating(closure):
                result = closure()
                if not state.scaled:
                    self._check_gradients(optimizer, state, after_backward=True)
            return result

        return evaluate

    def _of(self, optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
        known = self._known.get(id(optimizer))
        groups = optimizer.param_groups
        if known is None or len(known) != sum(len(group["params"]) for group in groups):
            known = [parameter for group in groups for parameter in group["params"]]
            self._known[id(optimizer)] = known
        return known

    def _learn_names(self, module: torch.nn.Module) -> None:
        for name, parameter in module.named_parameters():
            self._names.setdefault(id(parameter), name)


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
