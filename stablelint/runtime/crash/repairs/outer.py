"""A call of the program further out, whose arguments stand in the wrong places or are only a part of what is taken."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.deduced import deduced, silenced, without_hooks
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.pure import only_computes
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.tensors.measure import tensors_in

_Changed = tuple[ast.Call, list[Any], str]  # a call, what it is given, and what is written behind it
_MOST_ARGUMENTS = 6
_MOST = 1 << 24  # elements that are copied
_FAILED = object()


def rearranged(scene: Scene) -> Iterator[str]:
    """Calls of modules and of functions that only compute, around what failed, that pass with their arguments changed so."""
    for frame in reversed(scene.frames):
        node = node_at(frame.site) if frame.mine else None
        if not isinstance(node, ast.Call) or node.keywords or not 1 < len(node.args) <= _MOST_ARGUMENTS:
            continue
        called, given = value_of(node.func, frame.names), [_value(one, frame) for one in node.args]
        if any(one is UNKNOWN for one in given) or not _may_be_called(called):
            continue
        if _result(called, given) is not _FAILED:
            continue
        for changed, values, behind in (*_exchanged(node, given, frame), *_whole(node, given, frame)):
            if _result(called, values) is not _FAILED:
                yield f"{ast.unparse(changed)}{behind} passes, in line {resolve(frame.site).row}"


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
