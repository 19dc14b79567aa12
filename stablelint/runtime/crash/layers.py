"""The chain of shapes: the forward pass that failed, once more on a copy, layer by layer."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.replayed import detached, undisturbed
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.tensors.measure import tensors_in

_MOST_ROWS = 24
_MOST_ELEMENTS = 1 << 26  # of parameters: a larger model is not copied after a crash


def shapes_through_layers(scene: Scene) -> tuple[tuple[str, str, str], ...]:
    """Name, input and output shapes of the layers up to the failing one; nothing where it cannot be repeated."""
    for one in scene.frames:
        owner = one.frame.f_locals.get("self")
        if one.site.code.co_name == "_call_impl" and isinstance(owner, nn.Module):
            arguments = one.frame.f_locals.get("args", ()), one.frame.f_locals.get("kwargs", {})
            if sum(math.prod(each.shape) for each in owner.parameters()) > _MOST_ELEMENTS:
                return ()
            return _repeat(owner, *arguments)
    return ()


def _repeat(
    owner: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[str, str, str], ...]:
    rows: list[tuple[str, str, str]] = []
    try:
        model = copy.deepcopy(owner)
        names = {id(module): path or type(model).__name__ for path, module in model.named_modules()}
    except Exception:  # whatever a module of the program raises there: then there is no copy
        return ()

    def enter(module: nn.Module, given: Any) -> None:
        if not module._modules:
            rows.append((names.get(id(module), "?"), _shapes(given), "fails"))

    def leave(module: nn.Module, given: Any, result: Any) -> None:
        if not module._modules and rows:
            rows[-1] = (*rows[-1][:2], _shapes(result))

    handles = []
    for module in model.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
        handles += [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    with undisturbed(), torch.no_grad():
        try:
            model(*detached(args), **detached(kwargs))
        except Exception:
            return tuple(rows[-_MOST_ROWS:])
    return ()  # it did not fail again: the chain would be another one


def _shapes(value: Any) -> str:
    return ", ".join(str(tuple(one.shape)) for one in tensors_in(value)) or "–"
