"""At the end of a watched process: each fix on the function around its site, with the arguments that were seen."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FunctionType

import torch

from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.probe.plan import REGISTRY, Function, Plan
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched
from stablelint.runtime.verify.probe.sample import Arguments, Scope, copied_arguments, kept_scope
from stablelint.runtime.verify.replay.function import judged, rebuilt

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


def judge_all(plan: Plan) -> None:
    """Judge every site that went wrong, then those that did not and have a fix; write what was seen."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective called by one rank alone would wait for ever
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
        path = Path(plan.folder) / f"function-{os.getpid()}.json"
        path.write_text(json.dumps(shown_by_site), encoding="utf-8")


def _judged(watched: Watched, plan: Plan) -> FunctionShown | None:
    failing = RECORDER.failing.get(watched.id)
    fixed_file = plan.fixes.get(watched.id)
    if failing is None and fixed_file is None:
        return None
    healthy = first_call(watched)
    place, function = place_of(watched), function_of(watched, failing or healthy)
    if place is None or function is None:
        return None
    original = rebuilt(function, Path(place.path).read_bytes())
    if original is None:
        return None
    fixed = rebuilt(function, Path(fixed_file).read_bytes()) if fixed_file else None
    calls = [SeenCall(healthy)] if healthy is not None else []
    return judged(original, fixed, SeenCall(failing) if failing is not None else None, calls)


def first_call(watched: Watched) -> Scope | None:
    """A copy of the arguments of the first call of the function around a target, where there was one."""
    scope = RECORDER.functions.get(watched.function) if watched.function is not None else None
    return kept_scope(scope) if scope is not None else None


def place_of(watched: Watched) -> Function | None:
    """Where the function around a target stands."""
    return REGISTRY.functions.get(watched.function) if watched.function is not None else None


def function_of(watched: Watched, called: Scope | None) -> FunctionType | None:
    """The function around a target that was so called; None where it is not found, or does more than compute."""
    place = place_of(watched)
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
