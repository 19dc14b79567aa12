"""The arguments of a call of the program's own, kept so that the function can be called with them again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch

Arguments = Mapping[str, object]
_ELEMENTS = 1 << 24  # of the tensors in the arguments of one call


@dataclass(frozen=True, slots=True)
class Scope:
    """Arguments by name, and whether gradients were on."""

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
    if elements > _ELEMENTS:
        return None
    try:
        return Scope(copied_arguments(scope.arguments), scope.grad)
    except Exception:  # what cannot be copied is not called again
        return None
