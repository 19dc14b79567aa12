"""Functions that an audit listens at besides the guard's hooks: losses, schedulers, loaders, seeds.

Each is replaced by one that calls it and tells of it, and put back at the end.
"""

from __future__ import annotations

import functools
import inspect
import random
import sys
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.nn import functional
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stablelint.runtime.tracing.patches import replace

_LOSSES = (
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss "
    "smooth_l1_loss huber_loss kl_div"
).split()


class Listener(Protocol):
    """What the taps tell."""

    def on_loss(self, kind: str, arguments: dict[str, Any], value: object) -> None:
        """A loss function was called."""

    def on_schedule(self, scheduler: Any) -> None:
        """A learning rate scheduler is about to step."""

    def on_loader(self, loader: Any) -> None:
        """A loader was made."""

    def on_iterate(self, loader: Any, iterator: object) -> None:
        """A loader begins to hand out batches."""

    def on_seed(self, generator: str) -> None:
        """A generator was seeded."""

    def on_unscale(self) -> None:
        """A gradient scaler divided the gradients."""

    def on_clip_value(self) -> None:
        """Gradients were clipped element by element."""

    def on_detach(self, made: torch.Tensor, of: torch.Tensor) -> None:
        """A tensor was cut off its graph."""

    def on_function(self, function: type, arguments: tuple[Any, ...]) -> None:
        """A custom autograd function is about to be applied."""


class Taps:
    """Open from `open` to `close`."""

    def __init__(self, listener: Listener, batches: int | None = None) -> None:
        self._listener = listener
        self._batches = batches
        self._undo: list[Callable[[], None]] = []

    def open(self) -> None:
        """Begin to listen."""
        tell = self._listener
        for kind in _LOSSES:
            self._replace(functional, kind, functools.partial(_loss, tell, kind))
        for scheduler in vars(lr_scheduler).values():
            if isinstance(scheduler, type) and issubclass(scheduler, lr_scheduler.LRScheduler):
                if "step" in vars(scheduler):
                    self._replace(scheduler, "step", _before(lambda one, *_, **__: tell.on_schedule(one)))
        self._replace(DataLoader, "__init__", _after(lambda _, loader, *__, **___: tell.on_loader(loader)))
        self._replace(DataLoader, "__iter__", _after(lambda made, loader: tell.on_iterate(loader, made)))
        if self._batches is not None:
            self._replace(_BaseDataLoaderIter, "__next__", functools.partial(_ending, self._batches))
        self._replace(torch.Tensor, "detach", _after(tell.on_detach))
        self._replace(torch.amp.GradScaler, "unscale_", _after(lambda *_: tell.on_unscale()))
        for holder in (torch.nn.utils, torch.nn.utils.clip_grad):
            self._replace(holder, "clip_grad_value_", _after(lambda *_, **__: tell.on_clip_value()))
        for owner, name, generator in (
            (torch, "manual_seed", "torch"),
            (torch.random, "manual_seed", "torch"),
            (random, "seed", "random"),
            (sys.modules.get("numpy.random"), "seed", "numpy"),
        ):
            if owner is not None:
                self._replace(owner, name, _after(lambda *_, seeded=generator, **__: tell.on_seed(seeded)))
        apply = torch.autograd.Function.__dict__["apply"]

        def watched(cls: type, *args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling():
                tell.on_function(cls, args)
            return apply.__get__(None, cls)(*args, **kwargs)

        self._undo.append(replace(torch.autograd.Function, "apply", lambda _: classmethod(watched)))

    def close(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()

    def _replace(self, holder: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        self._undo.append(replace(holder, name, lambda original: functools.wraps(original)(wrap(original))))


def _before(tell: Callable[..., object]) -> Callable[[Any], Any]:
    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            tell(*args, **kwargs)
            return original(*args, **kwargs)

        return call

    return wrap


def _after(tell: Callable[..., object]) -> Callable[[Any], Any]:
    """Tell of a call with its result; where the first parameter of `tell` is the result."""

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            tell(result, *args, **kwargs)
            return result

        return call

    return wrap


def _ending(batches: int, original: Any) -> Any:
    """The next batch of an iterator of a loader, which ends early."""

    def following(iterator: Any) -> Any:
        if iterator._num_yielded >= batches:
            raise StopIteration
        return original(iterator)

    return following


def _loss(tell: Listener, kind: str, original: Any) -> Any:
    signature = inspect.signature(original)

    def loss(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not torch.compiler.is_compiling():
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            tell.on_loss(kind, bound.arguments, result)
        return result

    return loss
