"""Listens to a few training steps and writes down what happens; nothing that the program owns is written."""

from __future__ import annotations

import functools
import inspect
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from torch.nn.modules import module as torch_module
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.audit.allocations import Allocations
from stablelint.runtime.audit.calls import here
from stablelint.runtime.audit.graph import read_graph
from stablelint.runtime.audit.holders import Holding, filled_at, growing, holdings
from stablelint.runtime.audit.making import MakingRecorder, Taps
from stablelint.runtime.audit.modules import ModuleBook
from stablelint.runtime.audit.record import Backward, Step
from stablelint.runtime.audit.replayed import Tape, detached
from stablelint.runtime.audit.taps import DROPOUTS, LOSSES, ending, shielded
from stablelint.runtime.program.frames import Site, step_frames
from stablelint.runtime.tensors.measure import fused_norms, tensors_in
from stablelint.runtime.tensors.names import gradients_of, parameters_of
from stablelint.runtime.tensors.state import current_state, moved
from stablelint.runtime.tracing import hooks
from stablelint.runtime.tracing.patches import observing, replace

_EVALUATION = 2.0  # seconds that it may still take to come by, where a loader waits for it
_FIRST_LOOK = 2  # steps after which names are asked for the first time what they hold


@dataclass(slots=True)
class _Stepping:
    """An optimizer's steps so far."""

    taken: int = 0
    used: bool = False  # a step used the gradients that are there, and they were not zeroed
    stale: bool = False  # a backward pass added to such
    since: int = 0  # backward calls at the last step
    ready: tuple[Step, list[torch.Tensor]] | None = None  # the step under way, and parameters before it


class Recorder(MakingRecorder, hooks.Observer):
    """Fills a `Run` until an optimizer has taken `steps` steps, then calls `on_end`, which may raise.

    Where `batches` is given, loaders end after so many of them, and what stands behind an epoch is seen, too.
    """

    def __init__(
        self, steps: int | None, on_end: Callable[[], object] = lambda: None, batches: int | None = None
    ) -> None:
        super().__init__()
        self._limit = steps
        self._on_end = on_end
        self._batches = batches
        self._undo: list[Callable[[], None]] = []
        self._modules = ModuleBook(self.run, self.on_forward)
        self._attached = False
        self._began = 0.0
        self._last: tuple[float, int] | None = None  # step taken: when to end, and the passes before it
        self.under_way = self._modules.stack
        self._walked: list[weakref.ref[torch.Tensor]] = []
        self._sequence = 0  # of the first node after the last backward call
        self._unscaled_loss: float | None = None
        self._scaled = False  # gradients are multiplied by a scaler's factor
        self._clips: list[tuple[float, Site | None]] = []
        self._clipped_scaled: Site | None = None
        self._stepping: list[_Stepping] = []  # of `run.optimizers`
        self._early: dict[str, Holding] = {}
        self._taped: tuple[Tape, int] | None = None  # the loss that a scaler multiplies
        self._stepped: set[int] = set()  # those that took a step while the tape was written
        self._allocations = Allocations()

    def start(self) -> None:
        """Begin to listen."""
        self._attached = True
        self._anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        torch.autograd.set_detect_anomaly(True, check_nan=False)  # the first graph knows its lines
        hooks.attach(self)
        self._tap()
        before = torch_module.register_module_forward_pre_hook(self._modules.enter)
        behind = torch_module.register_module_forward_hook(
            self._modules.leave, with_kwargs=True, always_call=True
        )
        self._undo += before.remove, behind.remove

    def stop(self) -> None:
        """Stop listening; torch is as it was. Calling it again changes nothing."""
        if not self._attached:
            return
        self._attached = False
        self._end_tape()
        while self._undo:
            self._undo.pop()()
        hooks.detach(self)
        self.plain_graphs()
        self.run.peak = self.run.peak or self._allocations.stop()
        drawn = moved(self.random, current_state())
        self.run.drawn = {name for name, one in zip(("torch", "random", "numpy"), drawn, strict=False) if one}

    def plain_graphs(self) -> None:
        """Graphs that do not know their lines, as without the audit."""
        torch.autograd.set_detect_anomaly(*self._anomaly)

    def _tap(self) -> None:
        """Listen at functions besides the guard's hooks: losses, schedulers, loaders, seeds."""
        schedulers = [one for one in vars(lr_scheduler).values() if isinstance(one, type)]
        schedulers = [one for one in schedulers if issubclass(one, lr_scheduler.LRScheduler)]
        signatures = {kind: inspect.signature(getattr(functional, kind)) for kind in LOSSES}
        taps: Taps = [
            *((functional, kind, functools.partial(self.on_loss, kind, signatures[kind])) for kind in LOSSES),
            *((one, "step", self.on_schedule) for one in schedulers if "step" in vars(one)),
            (DataLoader, "__init__", self.on_loader),
            (DataLoader, "__iter__", self.on_iterate),
            (torch.amp.GradScaler, "unscale_", self.on_unscale),
            *((functional, kind, self.on_dropout) for kind in DROPOUTS),
            (functional, "scaled_dot_product_attention", self.on_attention),
            (torch.nn.utils, "clip_grad_value_", self.on_clip_value),
            (torch.nn.utils.clip_grad, "clip_grad_value_", self.on_clip_value),
            (torch, "compile", self.on_compile),
            *self.making(),
        ]
        for owner, name, observer in taps:
            self._replace(owner, name, observing(observer))
        if self._batches is not None:
            self._replace(_BaseDataLoaderIter, "__next__", ending(self._batches))
        apply = torch.autograd.Function.__dict__["apply"]

        def watched(cls: type, *args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling():
                self.on_function(cls, args)
            return apply.__get__(None, cls)(*args, **kwargs)

        self._undo.append(replace(torch.autograd.Function, "apply", lambda _: classmethod(watched)))

    def _replace(self, holder: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        self._undo.append(replace(holder, name, lambda original: functools.wraps(original)(wrap(original))))

    # what the taps tell: of every call its result, and its arguments

    @shielded
    def on_schedule(self, _: object, scheduler: Any, *args: object, **kwargs: object) -> None:
        """Note a scheduler that is ahead of its optimizer; the step in its own construction is not one."""
        if not getattr(scheduler, "_is_initial", False) and not self.elsewhere():
            self.run.schedules += 1
            self.run.early_schedule = self.run.early_schedule or (here() if not self.run.steps else None)

    def on_compile(self, *_: object, **__: object) -> None:
        """Write no tape: it would be compiled, too."""
        self.tapes = 0
        self._end_tape()

    def on_unscale(self, *_: object) -> None:
        """Gradients are what they are again."""
        self._scaled = False

    @shielded
    def on_clip_value(self, *_: object, **__: object) -> None:
        """Note the clip."""
        self._clip(float("nan"))

    @shielded
    def on_function(self, function: type, arguments: tuple[Any, ...]) -> None:
        """Keep the arguments of the first call of each custom function."""
        learned = any(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments)
        if learned and function not in self.run.functions:
            self.run.functions[function] = detached(arguments)

    # what the guard's hooks tell

    @shielded
    def on_scale(self, scaler: object, outputs: object) -> None:
        """The loss as it is before it is scaled."""
        if getattr(scaler, "is_enabled", lambda: True)():
            self._unscaled_loss = sum(float(one.detach().sum()) for one in tensors_in(outputs))
            self._taped = self._mark(tuple(tensors_in(outputs)))
            self._scaled = True

    @shielded
    def on_clip(self, total_norm: torch.Tensor, count: int) -> None:
        """Note norm and place of a clip."""
        self._clip(float(total_norm))

    def _clip(self, norm: float) -> None:
        site = here()
        if self.run.steps and not self.run.backwards[self._stepping[self.run.steps[-1].optimizer].since :]:
            if self._last is None:
                self.run.steps[-1].clipped_after = site
            return
        self._clips.append((norm, site))
        if self._scaled:
            self._clipped_scaled = site

    @shielded
    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Read the graph, and whether the gradients that will be added to were used already."""
        if not losses or self.elsewhere() or self._last is not None:
            return
        taped, self._taped = self._taped or self._mark(losses), None
        fresh = bool(self.run.optimizers)
        for optimizer, stepping in zip(self.run.optimizers, self._stepping, strict=True):
            present = any(fused_norms([one.detach() for one in gradients_of(parameters_of(optimizer))]))
            stepping.stale = stepping.used = stepping.used and present
            fresh = fresh and not present
        loss = losses[0]
        value = self._unscaled_loss
        self.run.backwards.append(
            backward := Backward(
                sum(float(one.detach().sum()) for one in losses) if value is None else value,
                here(),
                loss.grad_fn.name() if loss.grad_fn is not None else None,
                any(reference() is loss for reference in self._walked),
                self.fetches,
                fresh,
                self._scaled,
                taped,
            )
        )
        self._unscaled_loss, self.fetches = None, 0
        self._walked = [*self._walked[-3:], weakref.ref(loss)]
        if loss.grad_fn is not None:
            backward.facts = read_graph(loss.grad_fn, self._sequence)
        self._sequence = torch._C._autograd._get_sequence_nr()

    def _mark(self, losses: tuple[torch.Tensor, ...]) -> tuple[Tape, int] | None:
        """Where the tape holds a loss; the tape of one optimizer ends with it, that of several goes on."""
        place = self.tape.mark(losses) if self.tape is not None else None
        marked = (self.tape, place) if self.tape is not None and place is not None else None
        if self.tape is not None and len(self.run.made_at) < 2:
            self.tape.end()
        return marked

    def _end_tape(self) -> None:
        self._stepped.clear()
        if self.tape is not None:
            self.tape.end()
            self.leave_tape()

    @shielded
    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The gradients are there now, or when the closure has run."""
        if self.elsewhere() or self._last is not None:
            return None
        self.leave_tape()
        if (key := self._key_of(optimizer)) in self._stepped:
            self._end_tape()
        site = here()

        def watched(closure: Callable[[], object]) -> Callable[[], object]:
            def evaluate() -> object:
                result = closure()
                self._gradients_ready(key, optimizer, site)
                return result

            return evaluate

        changed = hooks.with_closure(args, kwargs, watched)
        if changed is None:
            self._gradients_ready(key, optimizer, site)
        return changed

    def _key_of(self, optimizer: torch.optim.Optimizer) -> int:
        for key, known in enumerate(self.run.optimizers):
            if known is optimizer:
                return key
        self.run.optimizers.append(optimizer)
        self._stepping.append(_Stepping())
        return len(self.run.optimizers) - 1

    def _gradients_ready(self, key: int, optimizer: torch.optim.Optimizer, site: Site | None) -> None:
        parameters = parameters_of(optimizer)
        names = self._modules.names_of(parameters)
        with_gradient = [one for one in parameters if one.grad is not None]
        norms = fused_norms([one.grad.detach() for one in with_gradient if one.grad is not None])
        for parameter, norm in zip(with_gradient, norms, strict=True):
            facts = self.run.parameters.get(id(parameter))
            if facts is not None:
                facts.gradients += 1
                facts.nonzero += norm != 0
        stepping = self._stepping[key]
        step = Step(
            key,
            self.run.backwards[stepping.since :],
            site,
            tuple(float(group["lr"]) for group in optimizer.param_groups if "lr" in group),
            stepping.stale,
            bool(with_gradient),
            bool(with_gradient) and not any(norms),
            self._clips,
            clipped_scaled=self._clipped_scaled,
            norms={names[id(one)]: norm for one, norm in zip(with_gradient, norms, strict=True)},
        )
        self._clips, self._clipped_scaled = [], None
        stepping.ready = step, [one.detach().clone() for one in parameters]
        if not stepping.taken:
            self.run.initial.update(zip(map(id, parameters), stepping.ready[1], strict=True))

    @shielded
    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """What the step did to the parameters; the end, if it was the last one to be watched."""
        stepping = self._stepping[self._key_of(optimizer)]
        self._end_in_time()
        if self.elsewhere() or stepping.ready is None:
            return
        (step, before), stepping.ready = stepping.ready, None
        parameters = parameters_of(optimizer)
        names = self._modules.names_of(parameters)
        with torch.no_grad():
            moves = fused_norms([new.detach() - old for new, old in zip(parameters, before, strict=True)])
            sizes = fused_norms(before)
        for parameter, move, size in zip(parameters, moves, sizes, strict=True):
            if size:
                step.moved[names[id(parameter)]] = move / size
        self.run.steps.append(step)
        self._stepped.add(step.optimizer)
        if not self.wants_tape():
            self._end_tape()
        self._began = self._began or time.perf_counter()
        self.run.seconds = time.perf_counter() - self._began
        stepping.since = len(self.run.backwards)
        stepping.used = True
        stepping.taken += 1
        self._scaled = False
        if len(self.run.steps) == 1:
            self.plain_graphs()
            self._allocations.start()
        if stepping.taken == _FIRST_LOOK and not self._early:
            self._early = self._holdings()
        if self._limit is not None and stepping.taken >= self._limit:
            self.look_at_names()
            idle = any(not one.batches for one in self.run.loaders)
            self._last = time.perf_counter() + _EVALUATION * idle, len(self.run.forwards)
            self._end_in_time()

    def on_fetch(self, iterator: object, batch: object) -> None:
        """A batch was handed out, behind the last step perhaps for an evaluation."""
        super().on_fetch(iterator, batch)
        self._end_in_time()

    def _end_in_time(self) -> None:
        """Behind the last step, end when there was time for an evaluation, or training goes on after it."""
        if self._last is not None:
            end, count = self._last
            later = self.run.forwards[count:]
            if time.perf_counter() >= end or (any(not one.grad for one in later) and later[-1].trained):
                self._on_end()

    @shielded
    def look_at_names(self) -> None:
        """Which names hold graphs, and which have grown since the first look."""
        if self._last is not None:
            return
        now = self._holdings()
        files = {held.filename for held in now.values()}
        graphs = [name for name, held in now.items() if held.graphs > 1]
        self.run.holders = tuple(graphs) or tuple(name for name, held in now.items() if held.graphs)
        self.run.holder_at = next((at for name in self.run.holders if (at := filled_at(name, files))), None)
        taken = max((one.taken for one in self._stepping), default=0)
        more = growing(self._early, now, taken - _FIRST_LOOK)
        self.run.growing = tuple(
            f"{name} ({held.tensors} tensors, {held.bytes:,} bytes)" for name, held in more.items()
        )
        self.run.growing_at = next((at for name in more if (at := filled_at(name, files))), None)

    def _holdings(self) -> dict[str, Holding]:
        return holdings(list(step_frames(sys._getframe(1))), self.run.roots)
