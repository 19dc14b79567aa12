"""Layers of torch made with other settings."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn


def settings_of(layer: nn.Module) -> dict[str, Any]:
    """What a layer of torch was made with, by name, as far as it keeps it."""
    given = {name: _setting(layer, name) for name in _taken(layer)}
    return {name: value for name, value in given.items() if value is not inspect.Parameter.empty}


def _taken(layer: nn.Module) -> dict[str, inspect.Parameter]:
    """The parameters of a layer's class, and those that it hands on to the class it is of."""
    own = dict(inspect.signature(type(layer)).parameters)
    handed_on = inspect.signature(type(layer).__mro__[1]).parameters if "kwargs" in own else {}
    return {**own, **{name: one for name, one in handed_on.items() if one.annotation not in (str, "str")}}


def sizes_of(layer: nn.Module) -> dict[str, Any]:
    """The settings of a layer of torch that are sizes of its parameters."""
    if not type(layer).__module__.startswith("torch.nn."):
        return {}
    made_of = {size for one in layer.state_dict().values() for size in one.shape}
    return {
        name: value
        for name, value in settings_of(layer).items()
        if (type(value) is int and (value in made_of or not made_of))
        or (isinstance(value, tuple) and name == "normalized_shape")
    }


def is_optional(layer: nn.Module, name: str) -> bool:
    """Whether a setting is taken from others where a program gives none."""
    return _taken(layer)[name].default is None


def remade(layer: nn.Module, changed: dict[str, Any]) -> nn.Module | None:
    """The layer made with other settings; None where there is none such."""
    try:
        taken = _taken(layer)
        given = {key: one for key, one in settings_of(layer).items() if one != taken[key].default}
        with torch.random.fork_rng(devices=[]):
            made = type(layer)(**{**given, **changed}).train(layer.training)
            return made.to(next(layer.parameters(), torch.empty(0)))
    except Exception:  # whatever it says of such a setting
        return None


def _setting(layer: nn.Module, name: str) -> Any:
    """What a layer was made with under a name; empty where it does not keep it."""
    value = getattr(layer, name, inspect.Parameter.empty)
    if name == "bias":
        return value is not None and value is not False
    return inspect.Parameter.empty if isinstance(value, torch.Tensor | nn.Module) else value
