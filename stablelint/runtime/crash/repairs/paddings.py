"""Another padding of the layers of a model, with which what they make is as large as what it meets."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.crash.layers import Pass, again, class_of, ends_well, fails_again, outermost, repeated
from stablelint.runtime.crash.repairs.failing import Call, failing
from stablelint.runtime.crash.repairs.layers import remade, set_by_itself, settings_of, sizes_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.tensors.measure import tensors_in

_SETTINGS = {"output_padding": (0, 1), "padding": range(8), "stride": (1, 2)}
_FACTORS = (2, 3, 4)
_SECONDS = 3.0  # after which no further pass is begun
_Called = tuple[nn.Module, Any, dict[str, Any]]


def padded(scene: Scene) -> list[str]:
    """The changes of layers with which the failed call passes: of what the program did not set, where that will do."""
    call, found = failing(scene), list[tuple[bool, str]]()
    for place, value in enumerate(call.values) if call is not None else ():
        text = call.texts.get(id(value), "x") if call is not None else "x"
        made = _made_by(scene, scene.operand(value, text).name) if isinstance(value, torch.Tensor) else None
        if made is not None and call is not None and _gives(made[0], value):
            found += list(_passing(*made, partial(_fits, call, place))) or _widened(*made, call, place)
    if not found and (whole := outermost(scene)) is not None and fails_again(scene):
        found += _passing(whole, "", ends_well)
    unset = [text for was_unset, text in found if was_unset]
    return unset or [text for _, text in found]


def with_room(scene: Scene) -> Iterator[str]:
    """A smaller window of the layer that failed, and larger images or series, with which the whole pass ends well."""
    found, made = outermost(scene), again(scene)
    if found is None or made is None or not made.called:
        return
    path, layer, given = made.called[-1]
    room = next((tuple(one.shape[2:]) for one in tensors_in(given)), ())
    smaller = remade(layer, {"kernel_size": room})
    if smaller is not None and ends_well(again(scene, {path: smaller})):
        yield f"nn.{type(layer).__name__}(…, kernel_size={room}) of {path or type(layer).__name__} passes"
    model, args, kwargs = found
    until = monotonic() + _SECONDS
    for factor in _FACTORS:
        if monotonic() > until:
            return
        larger = tree_map_only(torch.Tensor, partial(_scaled, factor), args)
        if ends_well(repeated(model, larger, kwargs)):
            sizes = next((one.shape[2:] for one in tensors_in(larger)), ())
            yield f"inputs of {' × '.join(map(str, sizes))} pass"
            return


def _scaled(factor: int, one: torch.Tensor) -> torch.Tensor:
    return one.new_zeros((*one.shape[:2], *(factor * size for size in one.shape[2:])))


def _made_by(scene: Scene, text: str) -> tuple[_Called, str] | None:
    """The module whose call gave an operand, what it was given, and what it is called."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:  # in words
        return None
    statement = scene.made(node) if isinstance(node, ast.Name) else None
    match statement.parsed().body if statement is not None else []:
        case [ast.Assign([ast.Name()], value)]:
            node = value
    if scene.user is None or not isinstance(node, ast.Call):
        return None
    names = scene.user.names
    module, given = value_of(node.func, names), [value_of(one, names) for one in node.args]
    known = isinstance(module, nn.Module) and not any(one is UNKNOWN for one in given)
    return ((module, given, {}), f" in {ast.unparse(node.func)}") if known else None


def _passing(called: _Called, where: str, passes: Callable[[Pass], bool]) -> Iterator[tuple[bool, str]]:
    """The first change of layers that are alike, and whether the setting had the value that it has of itself."""
    until = monotonic() + _SECONDS
    for setting, values in _SETTINGS.items():
        alike: dict[Any, dict[str, nn.Module]] = defaultdict(dict)
        for path, layer in called[0].named_modules():
            if isinstance(layer, nn.modules.conv._ConvNd):
                alike[(type(layer), layer.kernel_size, layer.stride, layer.dilation, layer.padding)][path] = (
                    layer
                )
        single = [{path: one} for layers in alike.values() for path, one in layers.items() if len(layers) > 1]
        for layers in (*alike.values(), *reversed(single)):
            first = next(iter(layers.values()))
            for value in values if monotonic() < until else ():
                if setting == "padding" and value > _reach(first):  # windows would hold nothing but zeros
                    break
                others = {path: remade(one, {setting: value}) for path, one in layers.items()}
                known = {path: one for path, one in others.items() if one is not None}
                made = repeated(*called, known) if len(known) == len(others) else None
                if made is not None and settings_of(first).get(setting) != value and passes(made):
                    place = where or f" of {', '.join(layers)}"
                    unset = set_by_itself(first, setting)
                    yield unset, f"nn.{class_of(first).__name__}(…, {setting}={value}){place} passes"
                    return


def _reach(layer: Any) -> int:
    """How far the window of a convolution reaches from its first element."""
    spans = zip(layer.kernel_size, layer.dilation, strict=True)
    return min(((int(size) - 1) * int(step) for size, step in spans), default=0)


def _gives(called: _Called, value: torch.Tensor) -> bool:
    """Whether a module still gives what an operand is: names may have got other values since."""
    made = repeated(*called)
    return made is not None and made.error is None and getattr(made.result, "shape", None) == value.shape


def _widened(called: _Called, where: str, call: Call, place: int) -> Iterator[tuple[bool, str]]:
    """The last layer of a module, that gives a size of another operand."""
    made = repeated(*called)
    path, layer, _ = made.called[-1] if made is not None and made.called else ("", nn.Identity(), None)
    whose = f" of {path}" if path else ""
    others = [one for i, one in enumerate(call.values) if i != place and isinstance(one, torch.Tensor)]
    for name, before in sizes_of(layer).items():
        for size in dict.fromkeys(size for one in others for size in one.shape if size not in (1, before)):
            changed = remade(layer, {name: size})
            again_made = repeated(*called, {path: changed}) if changed is not None else None
            if again_made is not None and again_made.error is None and _fits(call, place, again_made):
                yield False, f"nn.{type(layer).__name__}(…, {name}={size}){whose}{where} passes"


def _fits(call: Call, place: int, made: Pass) -> bool:
    """Whether a call takes what a pass gave."""
    try:
        call.given(place, made.result).result()
    except Exception:  # whatever torch says
        return False
    return made.error is None
