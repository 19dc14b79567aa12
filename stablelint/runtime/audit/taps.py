"""How functions are replaced that an audit listens at besides the guard's hooks: by ones that call them and tell of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

LOSSES = (
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss "
    "smooth_l1_loss huber_loss kl_div"
).split()


def telling_before(tell: Callable[..., object]) -> Callable[[Any], Any]:
    """Tell of a call before it."""

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            tell(*args, **kwargs)
            return original(*args, **kwargs)

        return call

    return wrap


def telling_after(tell: Callable[..., object]) -> Callable[[Any], Any]:
    """Tell of a call with its result; where the first parameter of `tell` is the result."""

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            tell(result, *args, **kwargs)
            return result

        return call

    return wrap


def ending(batches: int, original: Any) -> Any:
    """The next batch of an iterator of a loader, which ends early."""

    def following(iterator: Any) -> Any:
        if iterator._num_yielded >= batches:
            raise StopIteration
        return original(iterator)

    return following


def telling_loss(tell: Callable[..., object], kind: str, original: Any) -> Any:
    """Tell of a call of a loss function: its kind, its arguments by name, and its value."""
    signature = inspect.signature(original)

    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not torch.compiler.is_compiling():
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            tell(kind, bound.arguments, result)
        return result

    return call
