"""A function that holds a site, made ready to be called again with other inputs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType

import torch

from stablelint.runtime.verify.probe.plan import REGISTRY, Function
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched

# A function that uses one of these names does more than compute; it is not called again.
_EFFECTS = frozenset(
    "backward step save open write print input exit _exit remove unlink mkdir rmtree system run Popen barrier "
    "all_reduce broadcast add_scalar fit send recv put".split()
)
_WRAPPERS = 4  # decorators around a function that name what they wrap
Inputs = dict[str, object]


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that can be called again with other inputs."""

    call: Callable[..., object]
    inputs: Inputs  # those of the captured call, without `self`
    module: torch.nn.Module | None


def subject_of(watched: Watched) -> Subject | None:
    """The function around a target, with the arguments of its first call; None where it cannot be called again."""
    number = watched.function
    scope = RECORDER.functions.get(number) if number is not None else None
    place = REGISTRY.functions.get(number) if number is not None else None
    if scope is None or place is None:
        return None
    function = function_of(place, scope.arguments)
    if function is None:
        return None
    inputs = dict(scope.arguments)
    own = {"self": owner} if (owner := inputs.pop("self", None)) is not None else {}
    module = owner if isinstance(owner, torch.nn.Module) else None
    return Subject(partial(function, **own), inputs, module)


def function_of(place: Function, scope: Mapping[str, object]) -> FunctionType | None:
    """The function of that name that takes these arguments; None where it is not found, or does more than compute."""
    owner = scope.get("self")
    if owner is not None:
        function = getattr(type(owner), place.name, None)
    else:
        held = (each for each in list(sys.modules.values()) if _path_of(each) == place.path)
        function = next((getattr(module, place.name, None) for module in held), None)
    for _ in range(_WRAPPERS):
        function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or _EFFECTS & set(function.__code__.co_names):
        return None
    wanted = set(function.__code__.co_varnames[: function.__code__.co_argcount])
    return None if wanted - set(scope) or function.__code__.co_posonlyargcount else function


def _path_of(module: object) -> str | None:
    path = getattr(module, "__file__", None)
    return os.path.realpath(path) if isinstance(path, str) else None


@contextlib.contextmanager
def calm(subject: Subject) -> Iterator[None]:
    """Random state, buffers and output streams as they were, whatever the call does."""
    buffers = (
        {name: buffer.clone() for name, buffer in subject.module.named_buffers()} if subject.module else {}
    )
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()), torch.enable_grad():
        try:
            yield
        finally:
            if subject.module is not None:
                with torch.no_grad():
                    for name, buffer in subject.module.named_buffers():
                        if name in buffers and buffer.shape == buffers[name].shape:
                            buffer.copy_(buffers[name])
