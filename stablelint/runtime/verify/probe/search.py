"""Searches for inputs of the enclosing function at which a site goes wrong, in the process that has it alive.

Candidates are of known kinds: zeros, constants, scaled inputs, equal rows, full and empty masks.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import FunctionType

import torch

from stablelint.runtime.tensors.measure import floating
from stablelint.runtime.verify.probe.judge import first_call, function_of
from stablelint.runtime.verify.probe.look import all_finite
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched
from stablelint.runtime.verify.probe.sample import Scope, copied_arguments, kept
from stablelint.runtime.verify.replay.values import Call, Context

Inputs = Mapping[str, object]


def search_all(seconds: float) -> None:
    """Search for each target that went right in every captured call, for `seconds` in all."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective called by one rank alone would wait for ever
    waiting = [watched for watched in RECORDER.targets.values() if not watched.sample.failing]
    deadline = time.perf_counter() + seconds
    for index, watched in enumerate(waiting):
        left = deadline - time.perf_counter()
        if left <= 0:
            return
        RECORDER.listen(watched)
        try:
            found = _search(watched, time.perf_counter() + left / (len(waiting) - index))
        finally:
            RECORDER.listen(None)
        watched.sample.searched += [found] if found is not None else []


def _search(watched: Watched, deadline: float) -> Call | None:
    """The first candidate that goes wrong; None where the function around the target cannot be called again."""
    scope = first_call(watched)
    function = function_of(watched, scope)
    if function is None or scope is None:
        return None
    plain = {name: value for name, value in scope.arguments.items() if name != "self"}
    for inputs in _candidates(plain):
        if time.perf_counter() > deadline:
            return None
        found = _try(watched, function, scope, inputs)
        if found is not None:
            return found
    return None


def _floating(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if floating(value) and value.numel()}


def _candidates(inputs: Inputs) -> Iterator[Inputs]:
    floating = _floating(inputs)
    changes: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.zeros_like,
        torch.ones_like,
        lambda x: x * 30,
        lambda x: x * 1000,
        lambda x: -x * 1000,
        lambda x: x[:1].expand_as(x) if x.ndim else x,
        lambda x: x[..., :1].expand_as(x) if x.ndim else x,
        lambda x: x * 1e-12,
    ]
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.dtype in (torch.bool, torch.int64):
            yield {**inputs, name: torch.zeros_like(value)}
            yield {**inputs, name: torch.ones_like(value)}
        elif type(value) is int and value:
            yield {**inputs, name: 0}
    for change in changes:
        yield {**inputs, **{name: change(value) for name, value in floating.items()}}
        if len(floating) > 1:
            for name, value in floating.items():
                yield {**inputs, name: change(value)}
    for first, second in pairwise(floating):
        if floating[first].shape == floating[second].shape:
            yield {**inputs, first: floating[second].clone()}  # prediction equal to target


def _try(watched: Watched, function: FunctionType, scope: Scope, inputs: Inputs) -> Call | None:
    RECORDER.heard.clear()
    tracked = {name: value.detach().clone().requires_grad_() for name, value in _floating(inputs).items()}
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()), torch.enable_grad():
        try:
            function(**copied_arguments({**scope.arguments, **inputs}) | tracked)
        except Exception:  # inputs that the function refuses prove nothing
            return None
    felt = watched.grad_calls > 0  # nobody feels a gradient that the command never asks for
    for operands, context, value in list(RECORDER.heard):
        usual = all(all_finite(item, nan_only=watched.infinite) for item in operands.values())
        if usual and _bad(operands, value, felt):
            mode = Context(context.autocast, context.device, felt)
            return Call(kept(operands), mode, "search", kept(inputs))
    return None


def _bad(operands: Mapping[str, object], value: object, felt: bool) -> bool:
    if not all_finite(value):
        return True
    if not felt:
        return False
    asked = [v for v in operands.values() if isinstance(v, torch.Tensor) and v.requires_grad]
    if not asked or not isinstance(value, torch.Tensor) or not value.requires_grad:
        return False
    gradients = torch.autograd.grad(value.sum(), asked, retain_graph=True, allow_unused=True)
    return not all(all_finite(gradient) for gradient in gradients if gradient is not None)
