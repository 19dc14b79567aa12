"""Run a step once more under the operation-level mode, and leave everything else as it was."""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType

import torch

from stablelint.runtime.guard.replay.blame import Root, find_root
from stablelint.runtime.guard.replay.confined import quiet
from stablelint.runtime.guard.replay.likeness import Likeness, Moment, likeness, moment_at, names_at
from stablelint.runtime.guard.replay.places import ModuleStack
from stablelint.runtime.guard.replay.trace import Fault, Trace
from stablelint.runtime.guard.replay.writes import Writes
from stablelint.runtime.guard.watching.step_state import Alarm, Follower
from stablelint.runtime.process.traceback import frames_from
from stablelint.runtime.program.threads import others_run_the_program
from stablelint.runtime.tensors.measure import badness_of, sum_of, tensors_in
from stablelint.runtime.tensors.names import parameters_of
from stablelint.runtime.tensors.state import BufferRecorder, RandomState, current_state, state_preserved
from stablelint.runtime.tracing.bound import Attempt
from stablelint.runtime.tracing.eager import eager
from stablelint.runtime.tracing.graph import leaves_behind

Parameters = Mapping[str, torch.Tensor]


class ReplayDone(BaseException):
    """Ends a replay where the step went wrong; not an error, so no `except Exception` keeps it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a replay runs towards: the alarm as the watch saw it."""

    alarm: Alarm
    parameters: Parameters
    buffers: tuple[torch.Tensor, ...]
    skips: Callable[[str], bool] = lambda _: False  # parameters, by name, whose gradients are not looked at
    known: frozenset[torch.optim.Optimizer] = frozenset()
    moment: Moment | None = None  # the user's frames and the generators at the alarm
    proving: bool = False  # the step was fixed: go on to the gradients
    # Parameters that the program updates by hand, and that are damaged: what is looked for is the update that does it.
    updated: Parameters = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """A value was shown, by a program that takes no steps."""
        return self.alarm.shown is not None

    @property
    def backward_only(self) -> bool:
        """What is looked at are the gradients: the loss is finite, or should be."""
        return self.proving or not self.alarm.in_loss


@dataclass(slots=True)
class Outcome:
    """What a replay found."""

    reached: bool = False  # it came to the point of the alarm
    loss: float | None = None
    exact: bool = False
    begun: RandomState | None = None  # where the generators stood at the start of the replay
    moment: Moment | None = None  # the user's frames and the generators at the point of the alarm
    likeness: Likeness = field(default_factory=Likeness)
    root: Root | None = None
    parameter: str | None = None
    error: str | None = None
    faults_before_backward_end: int = 0  # recorded up to the last backward's end; later ones touch gradients
    went_backward: bool = False
    changed: tuple[str, ...] = ()  # containers of other threads as well, which are not as they were
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)  # of the modules called, by name
    outermost: dict[str, bool] = field(default_factory=dict)  # module name -> looks like a loss


class Replay(Follower):
    """One run towards a target, told alone of the backward and step calls while it is active."""

    def __init__(
        self, target: Target, attempt: Attempt, buffers: BufferRecorder, held: Sequence[torch.Tensor]
    ) -> None:
        region = attempt.region
        self.target, self._attempt = target, attempt
        self._ends_at_loss = (
            region is not None and region.chosen and target.alarm.in_loss and not target.shown
        )
        self._trained = [one for one in held if one.is_leaf and one.grad is not None]
        self._body = region.body if region is not None else ()
        self._at_step: dict[CodeType, Mapping[str, object]] = {}  # of another optimizer, the last one
        self._step_row = 0
        self._until = until = attempt.until
        self._renamed = {until[0]: region.code} if until is not None and region is not None else {}
        self._buffers = buffers
        self.modules = ModuleStack()
        gradients = [one.grad for one in self._trained if one.grad is not None]
        self._writes = Writes([*target.parameters.values(), *held, *gradients])
        self.trace = Trace(self.modules, backward_codes(), self._writes)
        self.outcome = Outcome(tensors=self.modules.tensors, outermost=self.modules.outermost)

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """A backward call starts; a non-finite loss ends the replay here."""
        if not self.target.proving and any(loss is self.target.alarm.loss_object for loss in losses):
            self.outcome.error = "the loss was computed outside the replayed code"
            raise ReplayDone
        value = sum_of(losses)
        self.outcome.loss = value
        with self.trace.resting():
            self.outcome.moment = moment_at(sys._getframe(1))
        if not math.isfinite(value):
            self._arrive([fault for loss in losses if (fault := self.trace.fault_of(loss))])
        if self._ends_at_loss:
            self._look_back_from(losses)

    def _look_back_from(self, losses: tuple[torch.Tensor, ...]) -> None:
        """The end of a replay of single statements: the graph behind what they took is the program's, and is not freed."""
        names = {id(one): name for name, one in self.all_parameters()}
        leaves = leaves_behind(losses) if self.target.proving else []
        if self.target.proving and not leaves:
            raise ReplayDone
        gradients = torch.autograd.grad(losses, leaves, retain_graph=True) if leaves else ()
        with self.trace.resting():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                name = names.get(id(leaf), "a parameter")
                if not self.target.skips(name) and badness_of(gradient, nan_suffices=True):
                    self.outcome.parameter = self.outcome.parameter or name
        self._arrive([])

    def on_scale(self, scaler: object, outputs: object) -> None:
        """A loss before it is scaled is what the watch saw."""
        self.before_backward(tuple(tensors_in(outputs)))

    def after_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """A backward call ended."""
        self.outcome.faults_before_backward_end = len(self.trace.faults)
        self.outcome.went_backward = True
        if self.target.updated:
            return
        if self.target.alarm.after_backward:
            self.on_step(self.target.alarm.optimizer)
        elif not self.target.backward_only and self._passed():
            self._arrive([])

    def on_step(self, optimizer: torch.optim.Optimizer | None) -> None:
        """The optimizer is about to step: the gradients are what they were at the alarm."""
        if self.target.updated:
            return  # what its step writes is what is looked for
        if self.target.proving and self.target.alarm.optimizer is None and not self._passed():
            return
        if not self.target.backward_only:
            if self._passed():
                self._arrive([])
            self._pass_over(sys._getframe(1))
            return
        # An optimizer not known before was made by the replayed code, and its parameters with it.
        known = optimizer is None or optimizer in self.target.known
        if known and self.target.alarm.optimizer is not None and optimizer is not self.target.alarm.optimizer:
            self._pass_over(sys._getframe(1))
            return
        self._look_at_gradients(optimizer)

    def _pass_over(self, frame: FrameType | None) -> None:
        """A step of another optimizer: parameters are those behind it already, and what was computed is not."""
        with self.trace.resting():
            self._at_step = dict(names_at(frame))
        for one in frames_from(frame):
            if self._until is not None and one.f_code is self._until[0]:
                self._step_row = one.f_lineno

    def _look_at_gradients(self, optimizer: torch.optim.Optimizer | None) -> None:
        parameters = self.all_parameters(optimizer)
        self._look_at((name, one.grad) for name, one in parameters if one.grad is not None)

    def _look_at(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """The end of the replay: what made those of the gradients, or parameters, by name that are not finite."""
        faults = []
        with self.trace.resting():
            for name, tensor in tensors:
                if not self.target.skips(name) and badness_of(tensor, nan_suffices=True):
                    self.outcome.parameter = self.outcome.parameter or name
                    fault = self.trace.fault_in(tensor)
                    if fault is not None:
                        faults.append(fault)
        self._arrive(faults)

    def on_shown(self, tensor: torch.Tensor) -> None:
        """A value that is not finite is shown in the replay as it was in the program."""
        if self.target.shown:
            self.outcome.loss = sum_of((tensor,)) if tensor.numel() == 1 else None
            self.outcome.moment = moment_at(sys._getframe(1))
            fault = self.trace.fault_of(tensor)
            if fault is not None or self.target.proving:
                self._arrive([fault] if fault is not None else [])

    def all_parameters(
        self, optimizer: torch.optim.Optimizer | None = None
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters and buffers with their names: those of the modules that the replay met, and those watched.

        A name may come twice: code that makes its model anew in the replay gives it the names of the first.
        """
        own = parameters_of(optimizer) if optimizer is not None else []
        loose = [(f"parameter {index}", one) for index, one in enumerate(own)]
        seen: set[int] = set()
        for name, tensor in [*self.outcome.tensors.items(), *self.target.parameters.items(), *loose]:
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield name, tensor

    def run(self) -> Outcome:
        """Run the attempt; never raises for what the step does."""
        outcome, attempt = self.outcome, self._attempt
        # Other threads may be training modules of their own, which names of the program lead to as well.
        used = self.modules.used if others_run_the_program() else None
        parameters = [*self.target.parameters.values(), *(self._trained if used is None else ())]
        grad_mode = torch.set_grad_enabled(torch.is_grad_enabled())
        with grad_mode, state_preserved(parameters, self.target.buffers, used), quiet(), eager():
            if used is None:
                self._buffers.restore()
            else:
                self.modules.on_first_call = self._buffers.restore
            if attempt.random is not None:
                attempt.random.restore()
            outcome.begun = current_state()
            try:
                with self.modules.watching(), self.trace:
                    result = attempt.run()
                if self.target.updated or (self.target.shown and result is not None):
                    self._look_at(self.target.updated.items() or self._handed_out(result))
                if target_is_healthy := self.target.shown and self.target.proving:
                    outcome.reached, outcome.loss = True, 0.0
                if not target_is_healthy:
                    self._take_result(result)
            except ReplayDone:
                pass
            except Exception as error:
                outcome.error = f"{type(error).__name__}: {error}"
            finally:
                self._writes.take_back()
        self._compare()
        return outcome

    def _handed_out(self, result: object) -> Iterator[tuple[str, torch.Tensor]]:
        """Those tensors of what a generator hands out that can be the one that was shown."""
        shown = self.target.alarm.shown
        for one in tensors_in(result):
            if shown is not None and (one.shape, one.dtype) == (shown.shape, shown.dtype):
                yield "", one

    def _compare(self) -> None:
        """Whether this was the same step: what it computed is what the step had computed, where that is finite."""
        outcome, target = self.outcome, self.target
        recorded = target.alarm.loss is not None
        same = outcome.reached and (not recorded or same_number(outcome.loss, target.alarm.loss))
        if target.moment is None or outcome.moment is None:
            outcome.exact = same and math.isfinite(outcome.loss or 0.0)
            return
        found = likeness(target.moment, outcome.moment, outcome.begun, self._renamed, self._at_step)
        if found.differing is None and (used := found.outdated & self._read_behind_step()):
            found = replace(found, differing=min(used))
        outcome.likeness = found
        finite = recorded and outcome.loss is not None and math.isfinite(outcome.loss)
        outcome.exact = same and (found.holds or (finite and found.differing is None))

    def _read_behind_step(self) -> set[str]:
        """The names that the replayed code reads between the step that was passed over and the alarm."""
        row = self._until[1] if self._until is not None else 0
        last = max((one.end_lineno or 0 for one in self._body if one.lineno <= row), default=row)
        nodes = (node for statement in self._body for node in ast.walk(statement))
        return {
            node.id
            for node in nodes
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and self._step_row < node.lineno <= last
        }

    def _passed(self) -> bool:
        """Whether the replayed code stands where the alarm was, or beyond; a bad loss would have ended it."""
        if self._until is None:
            return True
        code, row = self._until
        return next(
            (one.f_lineno >= row for one in frames_from(sys._getframe(1)) if one.f_code is code), True
        )

    def _take_result(self, result: object) -> None:
        if self.target.proving and self.outcome.went_backward and not self.outcome.reached:
            self._look_at_gradients(self.target.alarm.optimizer)  # the step goes on behind what was replayed
        losses = [tensor for tensor in tensors_in(result) if tensor.numel() == 1]
        if not self.outcome.reached and losses and self.outcome.loss is None:
            self.before_backward(tuple(losses[:1]))

    def _arrive(self, faults: Iterable[Fault]) -> None:
        self.outcome.reached = True
        if self.outcome.moment is None:
            self.outcome.moment = moment_at(sys._getframe(1))
        self.outcome.root = find_root(faults)
        raise ReplayDone


def backward_codes() -> frozenset[CodeType]:
    """Code objects through which the autograd engine is entered."""
    entries = (torch.autograd.backward, torch.autograd.grad, torch.autograd.graph._engine_run_backward)
    return frozenset(inspect.unwrap(entry).__code__ for entry in entries)


def same_number(one: float | None, other: float | None) -> bool:
    """Bitwise equality of two losses; any NaN equals any other."""
    if one is None or other is None:
        return False
    return one == other or (math.isnan(one) and math.isnan(other))
