"""A function that holds a site, made ready to be called again with other inputs and other parameters."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
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
class Parameters:
    """The parameters of a module by `self.` name, and how far each may be moved.

    `reach` is a share of a parameter's norm; of one that is 0, of the root of its size.
    """

    held: Mapping[str, torch.nn.Parameter] = field(default_factory=dict)
    start: Mapping[str, torch.Tensor] = field(default_factory=dict)
    reach: float = 0.0

    @classmethod
    def of(cls, module: torch.nn.Module | None, reach: float) -> Parameters:
        """Those of `module` that hold floating-point numbers; none where `reach` is 0."""
        if module is None or reach <= 0:
            return cls()
        held = {
            f"self.{name}": parameter
            for name, parameter in module.named_parameters()
            if parameter.is_floating_point() and parameter.numel()
        }
        return cls(held, {name: parameter.detach().clone() for name, parameter in held.items()}, reach)

    def move(self, name: str, step: torch.Tensor) -> None:
        """Take `step` away from a parameter, as far as the reach allows."""
        start, parameter = self.start[name], self.held[name]
        away = parameter.detach() - step - start
        size = float(start.norm()) or start.numel() ** 0.5
        most, length = self.reach * size, float(away.norm())
        with torch.no_grad():
            parameter.copy_(start + away * min(1.0, most / length) if length else start)

    def values(self) -> Inputs:
        """Copies of those that were moved."""
        return {
            name: parameter.detach().clone()
            for name, parameter in self.held.items()
            if not torch.equal(parameter, self.start[name])
        }

    def restore(self) -> None:
        """Put every parameter back."""
        with torch.no_grad():
            for name, parameter in self.held.items():
                parameter.copy_(self.start[name])

    @contextlib.contextmanager
    def tracked(self) -> Iterator[Mapping[str, torch.Tensor]]:
        """The parameters with gradients asked of them, frozen ones too."""
        asked = {name: parameter.requires_grad for name, parameter in self.held.items()}
        try:
            for parameter in self.held.values():
                parameter.requires_grad_(True)
            yield self.held
        finally:
            for name, parameter in self.held.items():
                parameter.requires_grad_(asked[name])


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that can be called again with other inputs."""

    call: Callable[..., object]
    inputs: Inputs  # those of the captured call, without `self`
    module: torch.nn.Module | None
    parameters: Parameters = field(default_factory=Parameters)


def subject_of(watched: Watched, reach: float = 0.0) -> Subject | None:
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
    return Subject(partial(function, **own), inputs, module, Parameters.of(module, reach))


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
