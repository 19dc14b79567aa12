"""The checks of a step: its loss, its gradients, and now and then the parameters; each may raise an alarm."""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Callable

import torch

from stablelint.runtime.guard.reporting.event import Warned
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.history import Meter
from stablelint.runtime.guard.watching.step_state import Alarm, StepState
from stablelint.runtime.program.frames import Site, is_of_program, user_frame
from stablelint.runtime.tensors.measure import all_finite, fused_norms, sum_of, total_norm
from stablelint.runtime.tensors.names import Names, gradients_of, parameters_of


def is_written_by_program(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the program itself says how an optimizer steps."""
    return is_of_program(inspect.unwrap(type(optimizer).step).__code__.co_filename)


class Checks:
    """Looks at numbers and calls `on_alarm`, which may raise, where one is not finite."""

    def __init__(
        self,
        on_alarm: Callable[[Alarm], None],
        on_norm: Callable[[StepState, float, tuple[float, ...], Meter], None],
        watched: Callable[[list[torch.Tensor]], list[torch.Tensor]],
    ) -> None:
        self.on_alarm = on_alarm
        self._on_norm = on_norm
        self._watched = watched

    def loss(self, state: StepState, loss: torch.Tensor, value: float) -> None:
        """Check the loss of a step; `value` is its number, or the sum where there are several."""
        state.loss = value
        if math.isfinite(value):
            return
        if (frame := user_frame()) is not None:
            state.history.add(state.number, value, None)
            self.on_alarm(Alarm(state.number, value, loss, True, None, frame, closure=state.closure))

    def gradients(
        self,
        state: StepState,
        parameters: list[torch.Tensor],
        optimizer: torch.optim.Optimizer | None,
        meter: Meter,
        after_backward: bool = False,
    ) -> None:
        """Check all gradients at once; `after_backward` where the step goes on to accumulate."""
        parameters = self._watched(parameters)
        clipped = None
        if state.clip_norm is not None and state.clip_count == len(parameters) and not after_backward:
            clipped = float(state.clip_norm)
        norm, layers = meter.read(parameters, clipped)
        if not after_backward:
            state.history.add(state.step, state.loss, norm, layers)
            if layers and math.isfinite(norm):
                self._on_norm(state, norm, layers, meter)
        if math.isfinite(norm) or all_finite(gradients_of(parameters)):
            return
        frame = user_frame()
        if frame is not None:
            alarm = Alarm(
                state.step, state.loss, None, False, optimizer, frame, after_backward, state.closure
            )
            self.on_alarm(alarm)

    def with_other_ranks(
        self,
        state: StepState,
        parameters: list[torch.Tensor],
        optimizer: torch.optim.Optimizer,
        meter: Meter,
        losses: list[torch.Tensor],
    ) -> None:
        """Check losses and gradients of sharded parameters; ranks raise an alarm all together or not at all."""
        state.loss = sum_of(losses) if losses else None
        parameters = self._watched(parameters)
        norm, layers = meter.read(parameters)
        state.history.add(state.step, state.loss, norm, layers)
        bad_loss = state.loss is not None and not math.isfinite(state.loss)
        well = not bad_loss and (math.isfinite(norm) or all_finite(ranks.local(gradients_of(parameters))))
        if ranks.all_well(well, parameters):
            return
        frame = user_frame()
        if frame is not None:
            loss = losses[-1] if bad_loss else None
            self.on_alarm(Alarm(state.step, state.loss, loss, bad_loss, optimizer, frame))

    def parameters(self, state: StepState, optimizer: torch.optim.Optimizer) -> None:
        """Check what the optimizer has written."""
        parameters = self._watched(parameters_of(optimizer))
        tensors = ranks.local([tensor.detach() for tensor in parameters])
        well = math.isfinite(total_norm(fused_norms(tensors))) or all_finite(tensors)
        if ranks.all_well(well, parameters):
            return
        frame = user_frame()
        if frame is not None:
            state.step_site = Site(frame.f_code, frame.f_lasti)
            state.written = True
            self.on_alarm(Alarm(state.step + 1, state.loss, None, False, optimizer, frame))


_KEPT = 64
_AGAIN = 10.0  # times the norm that was warned of last


class NormLimit:
    """Tells `on_warned` of norms beyond the limit, and again only when they have grown tenfold since."""

    def __init__(self, given: float | None, on_warned: Callable[[Warned], None], names: Names) -> None:
        self.given = given
        self.warned: deque[Warned] = deque(maxlen=_KEPT)
        self._on_warned = on_warned
        self._names = names

    def look(self, state: StepState, norm: float, layers: tuple[float, ...], meter: Meter) -> None:
        """The norm of a step is known, and that of each layer."""
        limit = self.given if self.given is not None else state.history.learned_limit()
        last = self.warned[-1].norm if self.warned else 0.0
        if limit is None or norm <= max(limit, _AGAIN * last):
            return
        largest = max(range(len(layers)), key=layers.__getitem__)
        name = self._names.in_order(meter.measured)[largest] if largest < len(meter.measured) else None
        warned = Warned(state.step, norm, limit, self.given is None, name, layers[largest])
        self.warned.append(warned)
        self._on_warned(warned)
