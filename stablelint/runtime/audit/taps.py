"""How an audit listens to functions besides the guard's hooks: they are called as ever, and it is told afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

LOSSES = (
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss "
    "smooth_l1_loss huber_loss kl_div"
).split()

DROPOUTS = ("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout").split()


def shielded(method: Callable[..., Any]) -> Callable[..., Any]:
    """An observing method whose errors are noted in `self.trouble` and reach nobody else; it then returns None."""

    @functools.wraps(method)
    def observe(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.trouble.append(f"{method.__name__}: {type(error).__name__}: {error}")
            return None

    return observe


def ending(batches: int) -> Callable[[Any], Any]:
    """Of an iterator of a loader the next batch, up to so many."""

    def wrap(original: Any) -> Any:
        def following(iterator: Any) -> Any:
            if iterator._num_yielded >= batches:
                raise StopIteration
            return original(iterator)

        return following

    return wrap
