"""Changes of a layer: made with another size or switch, or put before an operand."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.tensors import Change


def other_settings(call: Call) -> Iterator[Change]:
    """The layer made with another size, of those that its operands have, or with a switch turned."""
    layer = call.function
    if not isinstance(layer, nn.Module):
        return
    tensors = [one for one in call.values if isinstance(one, torch.Tensor)]
    sizes = {size: None for one in tensors for size in reversed(one.shape)}
    if not call.hollow:
        whole = (one for one in tensors if one.dtype == torch.int64 and 0 not in one.stride())
        sizes |= {int(one.max()) + 1: None for one in whole if one.numel()}
    kind, given = f"nn.{type(layer).__name__}", settings_of(layer)
    switch = given.get("batch_first")
    changes: list[tuple[str, Any]] = [("batch_first", not switch)] if isinstance(switch, bool) else []
    for name, value in sizes_of(layer).items():
        taken = value if isinstance(value, tuple) else (value,)
        there = any(size in one.shape[1:] for one in tensors for size in taken)
        if not there or isinstance(layer, nn.RNNBase):  # else the size is there, in another place
            changes += [(name, one) for one in sizes if one != value]
    for name, other in changes:
        made = remade(layer, {name: other})
        if made is not None:
            sort = "switch" if name == "batch_first" else "setting"
            yield sort, f"{kind}(…, {name}={other})", replace(call, function=made)


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


def other_order(call: Call) -> Iterator[Change]:
    """All layers within told that the batch comes first, or second, where the operands agree on what comes first."""
    inner = list(call.function.modules()) if isinstance(call.function, nn.Module) else []
    told = [one for one in inner if isinstance(getattr(one, "batch_first", None), bool)]
    ahead = [tuple(one.shape[:2]) for one in call.values if isinstance(one, torch.Tensor) and one.dim() > 1]
    if not told or len(ahead) < 2 or len(set(ahead)) > 1:
        return
    assert isinstance(call.function, nn.Module)
    turned, first = copy.deepcopy(call.function), not told[0].batch_first
    for one in turned.modules():
        if hasattr(one, "batch_first"):
            setattr(one, "batch_first", first)  # noqa: B010
    takers = (type(one) for one in inner if "batch_first" in inspect.signature(type(one)).parameters)
    yield (
        "order",
        f"nn.{next(takers, nn.Module).__name__}(…, batch_first={first})",
        replace(call, function=turned),
    )


def _setting(layer: nn.Module, name: str) -> Any:
    """What a layer was made with under a name; empty where it does not keep it."""
    value = getattr(layer, name, inspect.Parameter.empty)
    if name == "bias":
        return value is not None and value is not False
    return inspect.Parameter.empty if isinstance(value, torch.Tensor | nn.Module) else value
