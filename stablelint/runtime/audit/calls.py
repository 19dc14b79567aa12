"""Writes down the calls of models and losses, and which loader's batch they were given."""

from __future__ import annotations

import inspect
import os
import sys
import weakref
from collections.abc import Mapping
from functools import partial
from inspect import Signature
from types import FrameType
from typing import Any

import torch
from torch.nn import functional

from stablelint.runtime.audit.graph import maker_of, rows_taken
from stablelint.runtime.audit.record import Forward, LoaderFacts, LossCall, Run
from stablelint.runtime.audit.replayed import Tape, detached
from stablelint.runtime.audit.taps import shielded
from stablelint.runtime.audit.values import (
    MOST_ROWS,
    fingerprint,
    row_prints,
    rows_differ,
    sample_of,
    tells_apart,
)
from stablelint.runtime.program.frames import Site, site_of, step_frames
from stablelint.runtime.program.threads import is_installed
from stablelint.runtime.tensors.measure import tensors_in

_FRAMES = 64
TAPES = 3  # for each optimizer, until it is known how its loss comes about
_MOST_SAMPLES = 20_000  # that are remembered of a loader


class CallRecorder:
    """The part of a recorder that follows batches from their loaders through models to losses."""

    def __init__(self) -> None:
        self.run = Run()
        self.trouble = self.run.trouble
        self.fetches = 0  # batches since the last backward call
        self.under_way: list[torch.nn.Module] = []  # modules that are being called
        self.tape: Tape | None = None  # while it is written, or may still be shown functions
        self.tapes = TAPES  # that may still begin
        self._process = os.getpid()
        self._outputs: list[tuple[weakref.ref[torch.Tensor], Forward]] = []
        self._inside: list[LossCall] = []  # losses that the pass under way has computed
        self._batch_from: LoaderFacts | None = None
        self._batch_print: bytes | None = None
        self._iterators: weakref.WeakKeyDictionary[Any, LoaderFacts] = weakref.WeakKeyDictionary()

    @shielded
    def on_forward(
        self, root: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Keep the first rows of what an outermost module was given, and see whether a backward pass comes by."""
        self.leave_tape()
        learned = next(root.parameters(), None) is not None
        begins = self.tape is None and self.tapes > 0 and self.wants_tape()
        if learned and begins and torch.is_grad_enabled() and not self.elsewhere():
            self.tape, self.tapes = Tape(self.under_way, own_frame, self.on_difference), self.tapes - 1
        if self.tape is not None:
            self.tape.note(root, args, kwargs, result)
        if not learned:
            return
        inputs = tuple(tensors_in((args, kwargs)))
        first = next((one for one in inputs if one.numel()), None)
        forward = Forward(
            root,
            root.training,
            torch.is_grad_enabled(),
            here(),
            self._batch_from,
            tuple(sample_of(one) for one in inputs),
            self._batch_print or (fingerprint(first) if first is not None else None),
        )
        if forward.grad and all(one.pair is None for one in self.run.forwards if one.root is root):
            forward.pair = detached(args), detached(kwargs)
        self.run.forwards.append(forward)
        for call in self._inside:
            call.forward, forward.scored = forward, forward.scored or not call.grad
        self._inside = []
        self._outputs = [(ref, one) for ref, one in self._outputs if ref() is not None]
        for output in tensors_in(result):
            self._outputs.append((weakref.ref(output), forward))
            if output.grad_fn is not None:
                output.grad_fn.register_hook(partial(_reached, forward))

    @shielded
    def on_loss(self, kind: str, signature: Signature, value: object, *args: Any, **kwargs: Any) -> None:
        """Keep the first rows of input and target."""
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given, target = bound.arguments["input"], bound.arguments["target"]
        if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor) or self.elsewhere():
            return
        forward, output = self._source_of(given)
        if output is None and any(next(one.parameters(), None) is not None for one in self.under_way[:1]):
            forward = None
        single = isinstance(value, torch.Tensor) and value.numel() == 1
        call = LossCall(
            kind,
            {name: one for name, one in bound.arguments.items() if name not in ("input", "target")},
            sample_of(given),
            sample_of(target),
            (tuple(given.shape), tuple(target.shape)),
            float(value.detach()) if single and isinstance(value, torch.Tensor) else None,
            torch.is_grad_enabled() and given.requires_grad,
            here(),
            forward,
            maker_of(given),
            maker_of(target),
            _kept_rows(given, target),
            _best_constant(kind, bound.arguments) if not self.run.steps else None,
        )
        self.run.losses.append(call)
        if forward is None:
            self._inside.append(call)
            return
        forward.scored = forward.scored or not call.grad

    def on_difference(self, kind: str, given: torch.Tensor, target: torch.Tensor) -> None:
        """Keep those of a loss that is written out, as of the function."""
        self.on_loss(kind, inspect.signature(getattr(functional, kind)), None, given, target)

    def wants_tape(self) -> bool:
        """Whether it is not known yet how the loss of each optimizer comes about."""
        known = sum(one.taped is not None for *_, one in self.run.taught())
        return not known or known < len(self.run.made_at)

    def leave_tape(self) -> None:
        """Show torch's functions no longer to a tape whose backward call came."""
        if self.tape is not None and not self.tape.open:
            self.tape.leave()
            self.tape = None

    def _source_of(self, tensor: torch.Tensor) -> tuple[Forward | None, torch.Tensor | None]:
        """The call whose output `tensor` is, or is a view of."""
        for reference, forward in reversed(self._outputs):
            output = reference()
            if output is not None and (output is tensor or tensor._base is output):
                return forward, output
        return (self.run.forwards[-1], None) if self.run.forwards else (None, None)

    @shielded
    def on_dropout(self, _: object, given: object, p: float = 0.5, training: bool = True, *__: Any) -> None:
        """Note dropout within a model that is in evaluation mode."""
        if training and p > 0 and self.under_way and not self.under_way[-1].training:
            self.run.live_dropout = self.run.live_dropout or here()

    def on_attention(self, result: object, *args: Any, dropout_p: float = 0.0, **_: object) -> None:
        """Note its dropout."""
        self.on_dropout(result, None, args[4] if len(args) > 4 else dropout_p)

    @shielded
    def on_loader(self, _: object, loader: Any, *args: object, **kwargs: object) -> None:
        """Note a loader."""
        self._facts_of(loader)

    @shielded
    def on_iterate(self, iterator: object, loader: Any) -> None:
        """Note whose batches the iterator hands out."""
        facts = self._facts_of(loader)
        facts.iterators += 1
        if not isinstance(iterator, (list, tuple)):
            self._iterators[iterator] = facts

    def _facts_of(self, loader: Any) -> LoaderFacts:
        for facts in self.run.loaders:
            if facts.loader is loader:
                return facts
        self.run.loaders.append(LoaderFacts(loader, here()))
        return self.run.loaders[-1]

    @shielded
    def on_fetch(self, iterator: object, batch: object) -> None:
        """A batch was handed out."""
        facts = self._iterators.get(iterator)
        self.fetches += 1
        self._batch_from = facts
        tensors = list(tensors_in(batch))
        rows = row_prints(tensors)
        self._batch_print = b"".join(rows) or None
        if facts is not None:
            facts.telling = facts.telling or (not facts.batches and tells_apart(tensors))
            facts.batches += 1
            if facts.iterators == 1 and len(facts.samples) < _MOST_SAMPLES:
                facts.repeats += len(rows) - len(facts.samples.union(rows)) + len(facts.samples)
                facts.samples.update(rows)

    def elsewhere(self) -> bool:
        """Whether this is a copy of the process, such as a loader's worker."""
        return os.getpid() != self._process


def _best_constant(kind: str, options: Mapping[str, Any]) -> float | None:
    """The least loss of an output that is the same for all samples; None where that is not known, or the best."""
    target = options["target"]
    if options.get("reduction") != "mean" or not rows_differ(target):
        return None
    if kind == "mse_loss":
        return float(target.detach().float().var(0, correction=0).mean())
    plain = options.get("weight") is None and not options.get("label_smoothing")
    if kind == "cross_entropy" and plain and not target.is_floating_point():
        counts = target[target != options["ignore_index"]].unique(return_counts=True)[1]
        return float(torch.special.entr(counts / counts.sum()).sum())
    return None


def _kept_rows(given: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Of a loss that takes some rows of an output: which of the first ones, whose inputs are kept, and their targets."""
    places = rows_taken(given)
    if places is None or places.dim() != 1 or not target.dim() or len(places) != len(target):
        return None
    near = places < MOST_ROWS
    return places[near].clone(), target.detach()[near]


def _reached(forward: Forward, *_: object) -> None:
    """A hook on the node of an output: a backward pass went through its forward pass."""
    forward.trained = True
    if forward.fetched_from is not None:
        forward.fetched_from.trained = True


def here(built: object = None) -> Site | None:
    """The instruction of the program that is being executed, or that has what is being built built."""
    frame = own_frame(built)
    return site_of(frame) if frame is not None else None


def own_frame(built: object = None) -> FrameType | None:
    """The program's frame that is being executed: of its own files before those of installed packages."""
    frames = list(step_frames(sys._getframe(1), _FRAMES))
    if built is not None:  # the frames of its own constructor stand within
        frames = [one for one in frames if next(iter(one.f_locals.values()), None) is not built] or frames
    own = (one for one in frames if not is_installed(one.f_code.co_filename))
    return next(own, frames[0] if frames else None)
