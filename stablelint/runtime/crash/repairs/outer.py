"""A call of the program further out, whose arguments stand in the wrong places or are only a part of what is taken."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from types import FunctionType
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.deduced import deduced, silenced, without_hooks
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.layers import again, fails_again
from stablelint.runtime.crash.pure import only_computes
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.tensors.measure import tensors_in

_Changed = tuple[ast.Call, list[Any], str]  # a call, what it is given, and what is written behind it
_MOST_ARGUMENTS = 6
_MOST = 1 << 24  # elements that are copied
_FAILED = object()


def rearranged(scene: Scene) -> Iterator[str]:
    """Calls of modules and of functions that only compute, around what failed, that pass with their arguments changed so."""
    yield from _passing(
        scene, 2, lambda node, given, frame: (*_exchanged(node, given, frame), *_whole(node, given, frame))
    )


def turned(scene: Scene) -> Iterator[str]:
    """The same calls with two dimensions of an argument in each other's place."""
    yield from _passing(scene, 1, lambda node, given, _: _turned(node, given))


def batched(scene: Scene) -> Iterator[str]:
    """The same calls with one sample as a batch of one, where a convolution took it for that."""
    made = again(scene)
    called = (
        [(layer, given) for _, layer, given in made.called if isinstance(layer, nn.modules.conv._ConvNd)]
        if made is not None
        else []
    )
    alone = any(
        one.dim() == len(layer.kernel_size) + 1 for layer, given in called for one in tensors_in(given)
    )
    yield from () if not alone else _passing(scene, 0, lambda node, given, _: _as_batches(node, given))


def _as_batches(node: ast.Call, given: list[Any]) -> Iterator[_Changed]:
    for place, value in enumerate(given):
        if isinstance(value, torch.Tensor) and value.dim() > 1:
            text = ast.Call(ast.Attribute(node.args[place], "unsqueeze"), [ast.Constant(0)], [])
            arguments = [*node.args[:place], text, *node.args[place + 1 :]]
            values = [*given[:place], value.unsqueeze(0), *given[place + 1 :]]
            yield ast.Call(node.func, arguments, []), values, ""


def _passing(scene: Scene, least: int, changes: Callable[..., Iterable[_Changed]]) -> Iterator[str]:
    for frame in reversed(scene.frames):
        node = node_at(frame.site) if frame.mine else None
        if not isinstance(node, ast.Call) or node.keywords or not least <= len(node.args) <= _MOST_ARGUMENTS:
            continue
        called, given = value_of(node.func, frame.names), [_value(one, frame) for one in node.args]
        if any(one is UNKNOWN for one in given) or not _may_be_called(called):
            continue
        if _result(called, given) is not _FAILED:
            continue
        for changed, values, behind in changes(node, given, frame):
            result = _result(called, values)
            if result is not _FAILED and (least != 1 or _keeps_samples(result, frame, given)):
                yield f"{ast.unparse(changed)}{behind} passes, in line {resolve(frame.site).row}"


def _turned(node: ast.Call, given: list[Any]) -> Iterator[_Changed]:
    for place, value in enumerate(given):
        for one, other in ((0, 1), (1, 2)) if isinstance(value, torch.Tensor) else ():
            if other < value.dim() and value.shape[one] != value.shape[other]:
                text = ast.parse(
                    f"({ast.unparse(node.args[place])}).transpose({one}, {other})", mode="eval"
                ).body
                arguments = [*node.args[:place], text, *node.args[place + 1 :]]
                values = [*given[:place], value.transpose(one, other), *given[place + 1 :]]
                yield ast.Call(node.func, arguments, []), values, ""


def _value(node: ast.expr, frame: Frame) -> Any:
    found = value_of(node, frame.names)
    if found is UNKNOWN:
        found = deduced(node, frame.names)
    return UNKNOWN if found is None and not isinstance(node, ast.Constant) else found


def _may_be_called(called: Any) -> bool:
    """Whether it is a module of the program, or a function that only computes."""
    if not isinstance(called, nn.Module):
        return only_computes(called)
    held = sum(one.numel() for one in called.parameters())
    return not type(called).__module__.startswith("torch.") and held <= _MOST


def _result(called: Any, given: list[Any]) -> Any:
    """What a call of a copy, on copies, gives; a mark where it fails."""
    if sum(one.numel() for one in tensors_in(given)) > _MOST:
        return _FAILED
    copied: Any = without_hooks(copy_of(called)) if isinstance(called, nn.Module) else called
    try:
        with undisturbed(), torch.no_grad(), silenced(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copied(*detached(given))
    except Exception:  # whatever it says of them
        return _FAILED


def _keeps_samples(result: Any, frame: Frame, given: list[Any]) -> bool:
    """Whether a tensor of the frame, other than the arguments, has as many rows as a result."""
    count = next((one.shape[:1] for one in tensors_in(result)), None)
    held = frame.frame.f_locals.values()
    others = (one for one in held if isinstance(one, torch.Tensor) and all(one is not each for each in given))
    return count is not None and any(one.shape[:1] == count for one in others)


def _exchanged(node: ast.Call, given: list[Any], frame: Frame) -> Iterator[_Changed]:
    """The call with two tensors of different kinds in each other's place, unless one is called as it is taken."""
    taken = given_by_name(node, frame.names)
    named = [
        any(text is one and name == ast.unparse(one) for name, text in taken.items()) for one in node.args
    ]
    for one, other in (
        pair for pair in combinations(range(len(given)), 2) if not any(named[i] for i in pair)
    ):
        if _kind(given[one]) != _kind(given[other]) and None not in (_kind(given[one]), _kind(given[other])):
            order = list(range(len(given)))
            order[one], order[other] = other, one
            yield ast.Call(node.func, [node.args[i] for i in order], []), [given[i] for i in order], ""


def _kind(value: Any) -> tuple[Any, ...] | None:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else None


def _whole(node: ast.Call, given: list[Any], frame: Frame) -> Iterator[_Changed]:
    """The call with the whole of a tensor of which an index took a part; the index comes behind the call."""
    for place, one in enumerate(node.args):
        match one:
            case ast.Subscript(value, index) if isinstance(
                whole := value_of(value, frame.names), torch.Tensor
            ):
                arguments = [*node.args[:place], value, *node.args[place + 1 :]]
                values = [*given[:place], whole, *given[place + 1 :]]
                yield ast.Call(node.func, arguments, []), values, f"[{ast.unparse(index)}]"


def through_unused(scene: Scene, call: Call) -> Iterator[str]:
    """An operand through a layer that the model holds and none of its methods asks for, with which the call passes."""
    user = scene.user
    owner = user.frame.f_locals.get("self") if user is not None else None
    if not isinstance(owner, nn.Module) or not fails_again(scene):
        return
    methods = (
        one for kind in type(owner).__mro__ for one in vars(kind).values() if isinstance(one, FunctionType)
    )
    asked = {name for one in methods if one.__name__ != "__init__" for name in one.__code__.co_names}
    for name, layer in owner.named_children():
        held = name not in asked and any(True for _ in layer.parameters())
        for place, value in enumerate(call.values) if held else ():
            text = call.texts.get(id(value), "")
            given = _result(layer, [value]) if isinstance(value, torch.Tensor) and text else _FAILED
            if isinstance(given, torch.Tensor) and _passes(call.given(place, given)):
                yield f"self.{name}({text}) in place of {text} passes: {name} is made and not called"


def _passes(call: Call) -> bool:
    try:
        call.result()
    except Exception:  # whatever torch says
        return False
    return True
