"""At the end of a watched process: the functions around its sites are called again.

Each fix is judged with the arguments that were seen. For what went right, inputs are searched for at which it does not:
candidates are of known kinds, such as zeros, constants, scaled inputs, equal rows, full and empty masks.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import FunctionType

import torch

from stablelint.runtime.tensors.measure import floating
from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.probe.look import all_finite
from stablelint.runtime.verify.probe.plan import REGISTRY, Function, Plan
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched
from stablelint.runtime.verify.probe.sample import Arguments, Scope, copied_arguments, kept, kept_scope
from stablelint.runtime.verify.replay.function import judged, rebuilt
from stablelint.runtime.verify.replay.values import Call, Context

_SECONDS = 10.0  # for all sites
# A function that uses one of these names does more than compute; it is not called again.
_EFFECTS = frozenset(
    "backward step save open write print input exit _exit remove unlink mkdir rmtree system run Popen barrier "
    "all_reduce broadcast add_scalar fit send recv put".split()
)


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call of the program's own, copied anew for each repetition."""

    scope: Scope

    def __call__(self, function: Callable[..., object]) -> tuple[object, Arguments]:
        """What the function returns, and its arguments by name."""
        values = copied_arguments(self.scope.arguments)
        with torch.set_grad_enabled(self.scope.grad):
            return function(**values), values


def call_again(plan: Plan) -> None:
    """Judge the functions, and search for bad operands where that is wanted."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective called by one rank alone would wait for ever
    if plan.fixes or RECORDER.failing:
        _judge_all(plan)
    if plan.search_seconds > 0:
        _search_all(plan.search_seconds)
        RECORDER.flush()


def _judge_all(plan: Plan) -> None:
    """Judge every site that went wrong, then those that did not and have a fix; write what was seen."""
    deadline = time.perf_counter() + _SECONDS
    watched = sorted(RECORDER.targets.values(), key=lambda each: each.id not in RECORDER.failing)
    shown_by_site: dict[str, object] = {}
    RECORDER.listen(Watched())
    try:
        for each in watched:
            if time.perf_counter() > deadline:
                break
            shown = _judged(each, plan)
            if shown is not None:
                shown_by_site[each.id] = asdict(shown)
    finally:
        RECORDER.listen(None)
    if shown_by_site:
        plan.for_processes().tell("function", shown_by_site)


def _judged(watched: Watched, plan: Plan) -> FunctionShown | None:
    failing = RECORDER.failing.get(watched.id)
    fixed_file = plan.fixes.get(watched.id)
    if failing is None and fixed_file is None:
        return None
    healthy = _first_call(watched)
    place, function = _place_of(watched), _function_of(watched, failing or healthy)
    if place is None or function is None:
        return None
    original = rebuilt(function, Path(place.path).read_bytes())
    if original is None:
        return None
    fixed = rebuilt(function, Path(fixed_file).read_bytes()) if fixed_file else None
    calls = [SeenCall(healthy)] if healthy is not None else []
    return judged(original, fixed, SeenCall(failing) if failing is not None else None, calls)


def _first_call(watched: Watched) -> Scope | None:
    """A copy of the arguments of the first call of the function around a target, where there was one."""
    scope = RECORDER.functions.get(watched.function) if watched.function is not None else None
    return kept_scope(scope) if scope is not None else None


def _place_of(watched: Watched) -> Function | None:
    """Where the function around a target stands."""
    return REGISTRY.functions.get(watched.function) if watched.function is not None else None


def _function_of(watched: Watched, called: Scope | None) -> FunctionType | None:
    """The function around a target that was so called; None where it is not found, or does more than compute."""
    place = _place_of(watched)
    if place is None or called is None:
        return None
    scope = called.arguments
    owner = scope.get("self")
    if owner is not None:
        function = getattr(type(owner), place.name, None)
    else:
        held = (each for each in list(sys.modules.values()) if _path_of(each) == place.path)
        function = next((getattr(module, place.name, None) for module in held), None)
    function = inspect.unwrap(function) if function is not None else None
    if not isinstance(function, FunctionType) or _EFFECTS & set(function.__code__.co_names):
        return None
    wanted = set(function.__code__.co_varnames[: function.__code__.co_argcount])
    return None if wanted - set(scope) or function.__code__.co_posonlyargcount else function


def _path_of(module: object) -> str | None:
    path = getattr(module, "__file__", None)
    return os.path.realpath(path) if isinstance(path, str) else None


def _search_all(seconds: float) -> None:
    """Search for each target that went right in every captured call, for `seconds` in all."""
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
    scope = _first_call(watched)
    function = _function_of(watched, scope)
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


def _floating(inputs: Arguments) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if floating(value) and value.numel()}


def _candidates(inputs: Arguments) -> Iterator[Arguments]:
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


def _try(watched: Watched, function: FunctionType, scope: Scope, inputs: Arguments) -> Call | None:
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
