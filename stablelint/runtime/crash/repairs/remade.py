"""Layers of torch made with other settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
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


def alternatives(layer: nn.Module, wanted: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Other settings of a layer, one at a time: switches turned, numbers near by, sizes as they are wanted."""
    given, sizes = settings_of(layer), sizes_of(layer)
    taken = _taken(layer) if given else {}
    for name, value in given.items():
        if type(taken[name].default) is bool and type(value) is bool:
            yield {name: not value}
    for name, value in sorted(
        given.items(), key=lambda one: taken[one[0]].default is inspect.Parameter.empty
    ):
        parts = {*value} if isinstance(value, tuple) else {value}
        own = next(iter(parts)) if len(parts) == 1 and name not in sizes else None
        near = (own + 1, own - 1, own + 2, own * 2, own // 2) if type(own) is int else ()
        least = 0 if taken[name].default == 0 else 1
        yield from ({name: one} for one in dict.fromkeys(near) if one >= least and one != own)
    for name, value in sizes.items():
        if type(value) is int:
            others = dict.fromkeys((*wanted, 2 * value, 3 * value, 4 * value, value // 2))
            yield from ({name: one} for one in others if one not in (value, 0))


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
