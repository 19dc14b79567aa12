"""The process-wide hooks through which a watch sees steps; installed once, removed with the last watch.

Nothing is hooked per module: a step shows itself at `backward`, at the optimizer, at the loader and at the
gradient scaler.
"""

from __future__ import annotations

import functools
import multiprocessing.queues
import queue
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim import optimizer as torch_optimizer
from torch.utils.hooks import RemovableHandle

from stablelint.runtime.program.frames import is_of_program
from stablelint.runtime.tracing.patches import observing, replace


class Observer:
    """Is told of the steps; answers to everything with nothing: override what matters."""

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """A backward call starts."""

    def after_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """A backward call ended."""

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """An optimizer is about to step; may replace its arguments, which begin with the optimizer itself."""
        return None

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer stepped."""

    def on_fetch(self, iterator: object, batch: object) -> None:
        """A loader handed out a batch."""

    def on_index(self, iterator: object, index: object) -> None:
        """A loader has drawn which samples a batch to come is made of."""

    def on_take(self, source: object, item: object) -> None:
        """The program has taken an item of a queue."""

    def on_scale(self, scaler: object, outputs: object) -> None:
        """A gradient scaler is about to multiply a loss."""

    def on_clip(self, total_norm: torch.Tensor, count: int) -> None:
        """Gradients were clipped; their norm is known."""


def with_closure(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    make: Callable[[Callable[[], object]], Callable[[], object]],
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a step with `make` of its closure in the closure's place; None for a step without one."""
    if kwargs.get("closure") is not None:
        return args, {**kwargs, "closure": make(kwargs["closure"])}
    if len(args) > 1 and callable(args[1]):
        return (args[0], make(args[1]), *args[2:]), kwargs
    return None


_observers: tuple[Observer, ...] = ()  # replaced, never changed: a step under way keeps what it began with
_undo: list[Callable[[], None]] = []
_lock = threading.Lock()
_is_compiling = torch.compiler.is_compiling
_running_node = torch._C._current_autograd_node


def attach(observer: Observer) -> None:
    """Let `observer` see every step of this process."""
    global _observers
    with _lock:
        _observers = (*_observers, observer)
        if len(_observers) == 1:
            _install()


def detach(observer: Observer) -> None:
    """Stop `observer`; with the last one torch is as it was."""
    global _observers
    with _lock:
        _observers = tuple(one for one in _observers if one is not observer)
        if not _observers:
            while _undo:
                _undo.pop()()


class _Alone(threading.local):
    """The one observer that is told of the steps of a thread, where the others stand aside."""

    observer: Observer | None = None


_alone = _Alone()


@contextmanager
def alone(observer: Observer) -> Iterator[None]:
    """Until the end of the context only `observer` sees the steps of the calling thread."""
    before, _alone.observer = _alone.observer, observer
    try:
        yield
    finally:
        _alone.observer = before


def lone_observer() -> Observer | None:
    """The one that alone sees the steps of the calling thread, if there is one."""
    return _alone.observer


def _observers_here() -> tuple[Observer, ...]:
    alone = _alone.observer
    return _observers if alone is None else (alone,)


def _install() -> None:
    _hook_steps("_global_optimizer_pre_hooks", _before_step)
    _hook_steps("_global_optimizer_post_hooks", _after_step)
    _wrap(torch.autograd, "backward", _watching_backward)
    _wrap(torch.utils.data.dataloader._BaseDataLoaderIter, "__next__", observing(_after_fetch))
    _wrap(torch.utils.data.dataloader._BaseDataLoaderIter, "_next_index", observing(_after_index))
    for kind in (queue.Queue, multiprocessing.queues.Queue):
        _wrap(kind, "get", _watching_queue)
    _wrap(torch.amp.GradScaler, "scale", _watching_scale)
    for holder in (torch.nn.utils, torch.nn.utils.clip_grad):
        _wrap(holder, "clip_grad_norm_", _watching_clip)


def _hook_steps(name: str, hook: Callable[..., Any]) -> None:
    """Add a hook of all optimizers.

    Other threads may be going over the hooks: where there are none but ours, a new dictionary takes the old one's
    place. Somebody else's handle removes from the dictionary it knows, which then has to stay.
    """
    hooks = getattr(torch_optimizer, name)
    if not hooks:
        hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    setattr(torch_optimizer, name, hooks)

    def undo() -> None:
        if getattr(torch_optimizer, name) is hooks and list(hooks) == [handle.id]:
            setattr(torch_optimizer, name, OrderedDict())
        else:
            handle.remove()

    _undo.append(undo)


def _wrap(holder: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    _undo.append(replace(holder, name, lambda original: functools.wraps(original)(wrapper(original))))


def _before_step(
    optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    changed = None
    for observer in _observers_here():
        answer = observer.before_step(optimizer, args, kwargs)
        if answer is not None:
            changed = args, kwargs = answer
    return changed


def _after_step(optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    for observer in _observers_here():
        observer.after_step(optimizer)


def _watching_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_compiling() or _running_node() is not None:
            return original(tensors, *args, **kwargs)
        if isinstance(tensors, torch.Tensor):
            losses: tuple[torch.Tensor, ...] = (tensors,)
        else:
            tensors = tuple(tensors)
            losses = tuple(loss for loss in tensors if isinstance(loss, torch.Tensor))
        observers = _observers_here()
        for observer in observers:
            observer.before_backward(losses)
        result = original(tensors, *args, **kwargs)
        for observer in observers:
            observer.after_backward(losses)
        return result

    return backward


def _after_fetch(batch: object, iterator: object) -> None:
    for observer in _observers_here():
        observer.on_fetch(iterator, batch)


def _after_index(index: object, iterator: object) -> None:
    for observer in _observers_here():
        observer.on_index(iterator, index)


def _watching_queue(original: Callable[..., Any]) -> Callable[..., Any]:
    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        item = original(self, *args, **kwargs)
        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") in _OF_QUEUES and caller.f_back is not None:  # `get_nowait`
            caller = caller.f_back
        if is_of_program(caller.f_code.co_filename):
            for observer in _observers_here():
                observer.on_take(self, item)
        return item

    return get


_OF_QUEUES = (queue.__name__, multiprocessing.queues.__name__)


def _watching_scale(original: Callable[..., Any]) -> Callable[..., Any]:
    def scale(self: Any, outputs: Any) -> Any:
        for observer in _observers_here():
            observer.on_scale(self, outputs)
        return original(self, outputs)

    return scale


def _watching_clip(original: Callable[..., Any]) -> Callable[..., Any]:
    def clip_grad_norm_(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(parameters, torch.Tensor):
            parameters = [parameters]
        parameters = list(parameters)
        norm = original(parameters, *args, **kwargs)
        for observer in _observers_here():
            observer.on_clip(norm, len(parameters))
        return norm

    return clip_grad_norm_
