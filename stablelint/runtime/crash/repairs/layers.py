"""Changes of a layer: made with another size or switch, or put before an operand."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Advice
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.tensors import SUMS, Change, Name
from stablelint.runtime.tensors.measure import tensors_in


def through_a_layer(call: Call, name: Name) -> Iterator[Change]:
    """A sum of one operand and another, of which the first goes through a layer that gives it the other's shape."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    if call.function not in SUMS or len(tensors) != 2:
        return
    for (place, one), (_, other) in (tensors, tensors[::-1]):
        if one.dim() != other.dim() or one.shape[:1] != other.shape[:1]:
            continue
        for text in _layers(one.shape, other.shape, call.channels_first and one.dim() > 2):
            with torch.random.fork_rng(devices=[]), torch.device(other.device):
                layer = eval(text, {"nn": nn})  # a text of this file
            yield "layer", f"{text} of {name(place)}", call.given(place, layer(one.detach().to(other.dtype)))


def _layers(given: torch.Size, wanted: torch.Size, channels_first: bool) -> Iterator[str]:
    """Layers that give a shape another number of features, or of channels and places."""
    if given[:-1] == wanted[:-1] and len(given) > 1 and not channels_first:
        yield f"nn.Linear({given[-1]}, {wanted[-1]})"
    strides = {-(-one // other) for one, other in zip(given[2:], wanted[2:], strict=True)}
    if 2 < len(given) < 6 and len(strides) == 1:
        stride = strides.pop()
        yield f"nn.Conv{len(given) - 2}d({given[1]}, {wanted[1]}, 1{f', stride={stride}' if stride > 1 else ''})"


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
        there = type(value) is int and any(value in one.shape[1:] for one in tensors)
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


def misplaced(call: Call, name: Name) -> Advice | None:
    """The one dimension, beside the samples', that has the size which a layer takes, and where the layer looks for it."""
    place, value = next(
        ((i, one) for i, one in enumerate(call.values) if isinstance(one, torch.Tensor)), (0, None)
    )
    recurrent = isinstance(call.function, nn.RNNBase)  # whose order is the program's choice
    if value is None or recurrent or not isinstance(call.function, nn.Module):
        return None
    sizes = (one if isinstance(one, tuple) else (one,) for one in sizes_of(call.function).values())
    taken = {size for each in sizes for size in each}
    match [dim for dim in range(1, value.dim()) if value.shape[dim] in taken]:
        case [dim]:
            others = [one for one in range(value.dim() - 1, 0, -1) if one != dim]
        case _:
            return None
    for other in others:
        try:
            result = call.given(place, value.movedim(dim, other)).result()
        except Exception:  # whatever torch says: then it belongs elsewhere
            continue
        text, shape = name(place), tuple(next(iter(tensors_in(result))).shape)
        because = (
            f"the {value.shape[dim]} that are taken in dimension {other} stand in dimension {dim} of {text}"
        )
        return Advice((f"{text}.movedim({dim}, {other}) passes, and gives {shape}",), (because,))
    return None


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
