"""The checks of a step: its loss, its gradients, and now and then the parameters; each may raise an alarm."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import torch

from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.meter import Meter
from stablelint.runtime.guard.watching.step_state import Alarm, StepState
from stablelint.runtime.program.frames import Site, is_library, user_frame
from stablelint.runtime.program.threads import is_installed
from stablelint.runtime.tensors.measure import sum_of
from stablelint.runtime.tensors.names import gradients_of, parameters_of
from stablelint.runtime.tensors.norms import all_finite, fused_norms, total_norm


def is_written_by_program(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the program itself says how an optimizer steps."""
    filename = inspect.unwrap(type(optimizer).step).__code__.co_filename
    return not is_library(filename) and not is_installed(filename)


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
