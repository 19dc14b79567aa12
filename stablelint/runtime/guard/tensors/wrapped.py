"""Models inside `FullyShardedDataParallel`: each rank holds a part of a few flat parameters.

A call of such a wrapper gathers the parameters from all ranks, so a replay by one rank alone would wait for
ever. During a replay the parameters are whole and a wrapper calls what it wraps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from stablelint.runtime.tracing.patches import replaced


def is_wrapped_part(parameter: torch.Tensor) -> bool:
    """Whether a parameter is this rank's part of a flat one; torch has no public way to ask."""
    return bool(getattr(parameter, "_fsdp_flattened", False))


@contextmanager
def wrapped_modules_whole(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    """Until the end of the context wrappers among `modules` hold whole parameters without gradients.

    Every rank must enter and leave. What is written to the parameters meanwhile is lost.
    """
    parts = _wrappers_in(modules)
    if not parts:
        yield
        return
    parameters = [parameter for part in parts.values() for parameter in part.parameters()]
    gradients = [parameter.grad for parameter in parameters]
    inner = {id(child) for part in parts.values() for child in part.modules() if child is not part}
    for parameter in parameters:
        parameter.grad = None
    try:
        with ExitStack() as stack:
            for part in parts.values():
                if id(part) not in inner:
                    stack.enter_context(type(part).summon_full_params(part, writeback=False))
            for part in parts.values():
                stack.enter_context(replaced(part, "forward", partial(_passing_on, part)))
            yield
    finally:
        # With `use_orig_params` the parameters are the same objects, and the replay left gradients in them.
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient


def _passing_on(part: Any, _: object) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        return part.module(*args, **kwargs)

    return forward


def _wrappers_in(modules: Iterable[torch.nn.Module]) -> dict[int, Any]:
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", None)
    if kind is None:
        return {}
    return {id(part): part for module in modules for part in module.modules() if isinstance(part, kind)}
