"""Values that a program shows or hands out where no optimizer steps: read, printed, or returned by a module.

Seen are numbers read by `item`, printed tensors, and what outermost modules return without gradients. Nothing is
stopped: what is found is told when the process ends, and only if no step was ever taken, for in training it is the
loss and the gradients that count.
"""

from __future__ import annotations

import cmath
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, update_wrapper
from types import FrameType
from typing import Any

import torch

from stablelint.runtime.process.traceback import OWN, frames_from
from stablelint.runtime.program.frames import user_frame
from stablelint.runtime.tensors.measure import Badness, badness_of, tensors_in
from stablelint.runtime.tracing.patches import replaced

_LARGEST = 1 << 24  # elements of a module's result that are looked at
_TO_CALLER = 4  # frames from where a warning is caught to whoever shows the value

Seen = Callable[[torch.Tensor, FrameType], None]


class _Within(threading.local):
    """How deep in calls of modules and of looks a thread is."""

    modules = 0
    looking = False
    has_warned = False  # of a number that is made of a tensor with a graph, which torch does once


@contextmanager
def watching(on_seen: Seen) -> Iterator[None]:
    """Until the end of the context `on_seen` is told of tensors that are shown and not finite, and from where."""
    within = _Within()

    def look(tensor: torch.Tensor, nan_only: bool) -> None:
        if within.looking:
            return
        within.looking = True
        try:
            counts = _counts(tensor, nan_only)
        finally:
            within.looking = False
        frame = user_frame() if counts else None
        if frame is not None:
            on_seen(tensor, frame)

    def item(original: Any, tensor: torch.Tensor) -> Any:
        return read(original(tensor), tensor)

    def converted(original: Any, tensor: torch.Tensor) -> Any:
        if within.has_warned or not tensor.requires_grad:
            return read(original(tensor), tensor)
        value, within.has_warned = _warning_the_caller(original, tensor)
        return read(value, tensor)

    def read(value: Any, tensor: torch.Tensor) -> Any:
        if isinstance(value, float | complex) and not cmath.isfinite(value) and not _is_own_call():
            look(tensor, nan_only=False)
        return value

    def shown(original: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if not _is_own_call():
            look(tensor, nan_only=False)
        return original(tensor, *args, **kwargs)

    def called(original: Any, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        within.modules += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            within.modules -= 1
        if not within.modules and not torch.is_grad_enabled() and not torch.compiler.is_compiling():
            for tensor in tensors_in(result):
                look(tensor, nan_only=True)
        return result

    with ExitStack() as stack:
        for holder, name, wrapper in (
            (torch.Tensor, "item", item),
            (torch.Tensor, "__float__", converted),
            (torch.Tensor, "numpy", shown),
            (torch.Tensor, "__repr__", shown),
            (torch.Tensor, "tolist", shown),
            (torch.nn.Module, "__call__", called),
        ):
            stack.enter_context(replaced(holder, name, partial(_calling, wrapper)))
        yield


def _is_own_call() -> bool:
    """Whether it is code of this package that reads the value."""
    files = (frame.f_code.co_filename for frame in frames_from(sys._getframe(1)))
    return next((file for file in files if file != __file__), "").startswith(OWN)


def _warning_the_caller(read: Callable[[torch.Tensor], Any], tensor: torch.Tensor) -> tuple[Any, bool]:
    """What `read` gives, and whether it warned: of the line that shows the value, not of one of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = read(tensor)
    for one in caught:
        warnings.warn(one.message, stacklevel=_TO_CALLER)
    return value, bool(caught)


def _calling(wrapper: Callable[..., Any], original: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    return update_wrapper(call, original)


def _counts(tensor: torch.Tensor, nan_only: bool) -> bool:
    """Whether a value is one to explain: a NaN, or an infinity other than those that masks are made of."""
    if tensor.is_meta or tensor.is_quantized or tensor.numel() > _LARGEST:
        return False
    found = badness_of(tensor)
    return bool(found & Badness.NAN) or (
        not nan_only and bool(found & Badness.POSITIVE or (tensor.numel() == 1 and found))
    )
