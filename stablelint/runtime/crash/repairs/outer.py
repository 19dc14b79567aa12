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
from stablelint.runtime.crash.expression import UNKNOWN, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.pure import only_computes
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve
from stablelint.runtime.tensors.measure import tensors_in

_MOST_ARGUMENTS = 6
_MOST = 1 << 24  # elements that are copied


def rearranged(scene: Scene) -> Iterator[str]:
    """Calls of modules and of functions that only compute, around what failed, that pass with their arguments changed so."""
    for frame in reversed(scene.frames):
        node = node_at(frame.site) if frame.mine else None
        if isinstance(node, ast.Call) and 1 < len(node.args) <= _MOST_ARGUMENTS and not node.keywords:
            yield from _passing(frame, node)


def _passing(frame: Frame, node: ast.Call) -> Iterator[str]:
    called, given = value_of(node.func, frame.names), [_value(one, frame) for one in node.args]
    if any(one is UNKNOWN for one in given) or not _may_be_called(called) or _passes(called, given):
        return
    for changed, values, behind in (*_exchanged(node, given), *_whole(node, given, frame)):
        if _passes(called, values):
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


def _passes(called: Any, given: list[Any]) -> bool:
    """Whether a call of a copy, on copies, ends well."""
    if sum(one.numel() for one in tensors_in(given)) > _MOST:
        return False
    copied: Any = without_hooks(copy_of(called)) if isinstance(called, nn.Module) else called
    try:
        with undisturbed(), torch.no_grad(), silenced(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copied(*detached(given))
    except Exception:  # whatever it says of them
        return False
    return True


def _exchanged(node: ast.Call, given: list[Any]) -> Iterator[tuple[ast.Call, list[Any], str]]:
    """The call with two tensors of different kinds in each other's place."""
    for one, other in combinations(range(len(given)), 2):
        if _kind(given[one]) != _kind(given[other]) and None not in (_kind(given[one]), _kind(given[other])):
            order = list(range(len(given)))
            order[one], order[other] = other, one
            yield ast.Call(node.func, [node.args[i] for i in order], []), [given[i] for i in order], ""


def _kind(value: Any) -> tuple[Any, ...] | None:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else None


def _whole(node: ast.Call, given: list[Any], frame: Frame) -> Iterator[tuple[ast.Call, list[Any], str]]:
    """The call with the whole of a tensor of which an index took a part; the index comes behind the call."""
    for place, one in enumerate(node.args):
        match one:
            case ast.Subscript(value, index) if isinstance(
                whole := value_of(value, frame.names), torch.Tensor
            ):
                arguments = [*node.args[:place], value, *node.args[place + 1 :]]
                values = [*given[:place], whole, *given[place + 1 :]]
                yield ast.Call(node.func, arguments, []), values, f"[{ast.unparse(index)}]"
