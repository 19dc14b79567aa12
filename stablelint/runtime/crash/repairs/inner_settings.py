"""Another padding of the layers within the module that made an operand, which gives it the size that is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.deduced import silenced, without_hooks
from stablelint.runtime.crash.expression import UNKNOWN, value_of
from stablelint.runtime.crash.repairs.failing import Call, failing
from stablelint.runtime.crash.scene import Scene

_STEPS = {"output_padding": (1,), "padding": (1, -1)}  # what is added to a setting that `forward` reads
_MOST = 1 << 24  # elements of parameters that are copied


def padded(scene: Scene) -> Iterator[str]:
    """The changes of all layers of a kind that are alike, with which the failed call passes."""
    call = failing(scene)
    for place, value in enumerate(call.values) if call is not None else ():
        if not isinstance(value, torch.Tensor) or call is None:
            continue
        made = _made_by(scene, scene.operand(value, call.texts.get(id(value), "x")).name)
        if made is not None:
            yield from _passing(call, place, *made)
            return


def _made_by(scene: Scene, text: str) -> tuple[nn.Module, list[Any], str] | None:
    """The module whose call gave an operand, what it was given, and what it is called."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:  # in words
        return None
    if scene.user is None:
        return None
    statement = scene.made(node) if isinstance(node, ast.Name) else None
    match statement.parsed().body if statement is not None else []:
        case [ast.Assign([ast.Name()], value)]:
            node = value
    module = value_of(node.func, scene.user.names) if isinstance(node, ast.Call) else None
    given = [value_of(one, scene.user.names) for one in node.args] if isinstance(node, ast.Call) else []
    if (
        not isinstance(node, ast.Call)
        or not isinstance(module, nn.Module)
        or any(one is UNKNOWN for one in given)
    ):
        return None
    small = sum(one.numel() for one in module.parameters()) <= _MOST
    return (module, given, ast.unparse(node.func)) if small else None


def _passing(call: Call, place: int, module: nn.Module, given: list[Any], name: str) -> Iterator[str]:
    for setting, steps in _STEPS.items():
        alike = {(type(one), getattr(one, setting, None)) for one in module.modules()}
        for kind, before in sorted(alike, key=str):
            for step in steps:
                after = _added(before, step)
                made = (
                    _with_setting(module, given, kind, setting, before, after) if after is not None else None
                )
                if made is not None and _passes(call.given(place, made)):
                    yield f"nn.{kind.__name__}(…, {setting}={_written(after)}) in {name} passes"


def _added(value: Any, step: int) -> Any:
    """A setting that is a number, or one for each dimension, a step further."""
    if type(value) is int:
        return value + step if value + step >= 0 else None
    whole = isinstance(value, tuple) and value and all(type(one) is int and one + step >= 0 for one in value)
    return tuple(one + step for one in value) if whole else None


def _written(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


def _with_setting(
    module: nn.Module, given: list[Any], kind: type, setting: str, before: Any, after: Any
) -> torch.Tensor | None:
    """What a copy of a module gives with another setting of its layers of a kind."""
    copied = without_hooks(copy_of(module))
    for one in copied.modules() if copied is not None else ():
        if type(one) is kind and getattr(one, setting) == before:
            setattr(one, setting, after)
    try:
        with undisturbed(), torch.no_grad(), silenced():
            made = copied(*detached(given)) if copied is not None else None
    except Exception:  # whatever a layer says of such a setting
        return None
    return made if isinstance(made, torch.Tensor) else None


def _passes(call: Call) -> bool:
    try:
        call.result()
    except Exception:  # whatever torch says
        return False
    return True
