"""Transposed convolutions that give one element more, so that what a model makes is as large as what it meets."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.crash.layers import Pass, ends_well, fails_again, outermost, repeated
from stablelint.runtime.crash.repairs.failing import Call, failing
from stablelint.runtime.crash.repairs.layers import remade
from stablelint.runtime.crash.scene import Scene

_Called = tuple[nn.Module, Any, dict[str, Any]]


def padded(scene: Scene) -> list[str]:
    """The change of layers with which the failed call passes: of those that gave an operand, or of the whole model."""
    call = failing(scene)
    for place, value in enumerate(call.values) if call is not None else ():
        text = call.texts.get(id(value), "x") if call is not None else "x"
        made = _made_by(scene, scene.operand(value, text).name) if isinstance(value, torch.Tensor) else None
        if made is not None and call is not None and _gives(made[0], value):
            if found := _passing(*made, partial(_fits, call, place)):
                return found
    whole = outermost(scene) if fails_again(scene) else None
    return _passing(whole, "", ends_well) if whole is not None else []


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


def _passing(called: _Called, where: str, passes: Callable[[Pass], bool]) -> list[str]:
    """The change of all layers that are alike, or of one of them."""
    alike: dict[Any, dict[str, nn.Module]] = defaultdict(dict)
    for path, layer in called[0].named_modules():
        if isinstance(layer, nn.modules.conv._ConvTransposeNd):
            alike[(type(layer), layer.kernel_size, layer.stride)][path] = layer
    single = [{path: one} for layers in alike.values() for path, one in layers.items()]
    for layers in (*alike.values(), *single):
        others = {path: remade(one, {"output_padding": 1}) for path, one in layers.items()}
        made = repeated(*called, {path: one for path, one in others.items() if one is not None})
        if made is not None and passes(made):
            kind = type(next(iter(layers.values()))).__name__
            return [f"nn.{kind}(…, output_padding=1){where or ' of ' + ', '.join(layers)} passes"]
    return []


def _gives(called: _Called, value: torch.Tensor) -> bool:
    """Whether a module still gives what an operand is: names may have got other values since."""
    made = repeated(*called)
    return made is not None and made.error is None and getattr(made.result, "shape", None) == value.shape


def _fits(call: Call, place: int, made: Pass) -> bool:
    """Whether a call takes what a pass gave."""
    try:
        call.given(place, made.result).result()
    except Exception:  # whatever torch says
        return False
    return made.error is None
