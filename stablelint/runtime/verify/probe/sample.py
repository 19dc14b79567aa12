"""What is kept of calls, in bounded memory: of a site the most telling and a random sample, of a function the arguments."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from stablelint.runtime.verify.replay.values import Call

CALLS_FAILING = 3
CALLS_RANDOM = 4
_MODES = 6
ELEMENTS = 1 << 18  # of one stored operand; longer ones are cut along their first dimension


def kept(operands: Mapping[str, object]) -> dict[str, object]:
    """Copies of all operands, which later writes cannot touch.

    A large one is cut along its first dimension, and those of the same length are cut alike.
    """
    large = [v for v in operands.values() if isinstance(v, torch.Tensor) and v.ndim and v.numel() > ELEMENTS]
    sizes = {tensor.shape[0] for tensor in large}
    share = min((max(1, ELEMENTS * tensor.shape[0] // tensor.numel()) for tensor in large), default=0)
    result: dict[str, object] = {}
    for name, value in operands.items():
        if isinstance(value, torch.Tensor):
            same = value.ndim > 0 and value.shape[0] in sizes
            result[name] = (value.detach()[:share] if same else value.detach()).clone()
        else:
            result[name] = value
    return result


@dataclass(slots=True)
class Sample:
    """The kept calls of one site.

    Keeps the first calls with a bad result, for each operand the calls with its least, greatest and smallest
    elements, the first call in each mode (autocast, gradients, element types), and a uniform random sample of
    the others (algorithm R).
    """

    failing: list[Call] = field(default_factory=list)
    extreme: dict[tuple[str, str], tuple[float, Call]] = field(default_factory=dict)
    modes: dict[tuple[object, ...], Call] = field(default_factory=dict)
    drawn: list[Call] = field(default_factory=list)
    searched: list[Call] = field(default_factory=list)
    offered: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def room_for_failing(self) -> bool:
        """Whether another call with a bad result is wanted."""
        return len(self.failing) < CALLS_FAILING

    def beats(self, key: tuple[str, str], score: float) -> bool:
        """Whether a call with this score replaces the most extreme one kept under `key`.

        A score must be better by a twentieth: a drifting operand would be copied at each call otherwise.
        """
        held = self.extreme.get(key)
        if held is None:
            return True
        return score < held[0] and (score == 0 or abs(score - held[0]) > 0.05 * abs(held[0]))

    def is_new(self, mode: tuple[object, ...]) -> bool:
        """Whether a call in this mode is wanted."""
        return mode not in self.modes and len(self.modes) < _MODES

    def draw(self) -> int | None:
        """Where in the random sample the next call belongs; None: nowhere."""
        self.offered += 1
        if len(self.drawn) < CALLS_RANDOM:
            return len(self.drawn)
        place = self._random.randrange(self.offered)
        return place if place < CALLS_RANDOM else None

    def calls(self) -> list[Call]:
        """All kept calls, each once: failing first, then extremes, then random ones, then searched ones."""
        extremes = (call for _, call in self.extreme.values())
        every = (*self.failing, *extremes, *self.modes.values(), *self.drawn, *self.searched)
        return list({id(call): call for call in every}.values())


Arguments = Mapping[str, object]
_ARGUMENTS = 1 << 24  # of the tensors in the arguments of one call


@dataclass(frozen=True, slots=True)
class Scope:
    """Arguments of a call of the program's own, by name, and whether gradients were on: it can be made again."""

    arguments: Arguments
    grad: bool


def copied(value: object) -> object:
    """A copy that a call may write into; tensors keep whether they ask for a gradient. Raises what copying raises."""
    match value:
        case torch.Tensor():
            return value.detach().clone().requires_grad_(value.requires_grad and value.is_floating_point())
        case list():
            return [copied(item) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(copied(item) for item in value)
        case dict():
            return {key: copied(item) for key, item in value.items()}
    return copy.deepcopy(value)


def _owner(value: object) -> object:
    """A copy of a method's object: whole for a module; of another one, whatever it holds, only its tensors."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value)
    other = copy.copy(value)
    for name, item in vars(value).items() if hasattr(value, "__dict__") else ():
        if isinstance(item, torch.Tensor):
            setattr(other, name, copied(item))
    return other


def copied_arguments(arguments: Arguments) -> dict[str, object]:
    """Copies that a call may write into. Raises what copying raises."""
    return {name: _owner(value) if name == "self" else copied(value) for name, value in arguments.items()}


def kept_scope(scope: Scope) -> Scope | None:
    """A copy of the scope; None where its arguments are too large, or cannot be copied."""
    elements = 0
    for value in scope.arguments.values():
        tensors = value.parameters() if isinstance(value, torch.nn.Module) else [value]
        elements += sum(item.numel() for item in tensors if isinstance(item, torch.Tensor))
    if elements > _ARGUMENTS:
        return None
    try:
        return Scope(copied_arguments(scope.arguments), scope.grad)
    except Exception:  # what cannot be copied is not called again
        return None
