"""Where a forward pass gave other rows than samples: that pass once more on a copy, operation by operation."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from stablelint.runtime.audit.replayed import copy_of, detached, undisturbed
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve, site_of, user_frame
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in


@dataclass
class _Rows(TorchFunctionMode):
    """Watches for the last operation that makes other rows of as many as there are samples."""

    samples: int
    model: nn.Module
    at: Location | None = None
    given: tuple[int, ...] = ()
    result: tuple[int, ...] = ()
    operation: str = ""
    kept: tuple[int, ...] = ()  # the shape that keeps the samples
    taker: str = ""  # the linear layer that takes what was made
    _made: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        first = args[0] if args else None
        parts = (
            [one for one in first if isinstance(one, torch.Tensor)]
            if isinstance(first, list | tuple)
            else [first]
        )
        given = parts[0] if parts and isinstance(parts[0], torch.Tensor) else None
        if given is None or not isinstance(result, torch.Tensor) or not given.dim():
            return result
        if not result.dim() and func is not torch.Tensor.squeeze and func is not torch.squeeze:
            return result
        if given is self._made and func is torch.nn.functional.linear:
            self.taker = next(
                (path[: -len(".weight")] for path, one in self.model.named_parameters() if one is args[1]), ""
            )
        if given.shape[0] == self.samples and result.shape[:1] != (self.samples,):
            frame = user_frame()
            self.at = resolve(site_of(frame)) if frame is not None else None
            self.given, self.result = tuple(given.shape), tuple(result.shape)
            self.kept = (self.samples, math.prod(self.given[1:]))
            if len(parts) > 1:
                self.kept = tuple(func(parts, 1).shape) if given.dim() > 1 else ()
            self._made, self.taker, self.operation = result, "", getattr(func, "__name__", "")
        return result


def with_rows(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and where samples became other rows, if that is why its operands do not fit."""
    for one, other in permutations(found.operands, 2):
        if one.shape[:1] != other.shape[:1] and other.shape:
            watched = _watched(scene, one, other.shape[0])
            if watched is not None and watched.at is not None and watched.result[:1] == one.shape[:1]:
                return _told(found, watched)
    return _in_forward(scene, found) or found


def _in_forward(scene: Scene, found: Explanation) -> Explanation | None:
    """The same of the pass that failed: where what its linear layer takes stands in rows that are no samples."""
    layer, calls = scene.module, [one for one in scene.frames if one.site.code.co_name == "_call_impl"]
    model, given = (calls[0].frame.f_locals.get(name) for name in ("self", "args")) if calls else (None, ())
    first = next(iter(tensors_in(given)), None)
    given_layer = next((one for one in found.operands if not one.held), None)
    if (
        not isinstance(layer, nn.Linear)
        or not isinstance(model, nn.Module)
        or first is None
        or given_layer is None
    ):
        return None
    rows = _again(model, given, first.shape[0]) if given_layer.shape[:1] != first.shape[:1] else None
    if rows is None or rows.at is None or rows.result[:1] != given_layer.shape[:1]:
        return None
    return _told(found, rows) if rows.kept[-1:] == (layer.in_features,) else None


def _told(found: Explanation, rows: _Rows) -> Explanation:
    assert rows.at is not None
    expression, rest = rows.at.expression, math.prod(rows.given[1:])
    because = f"`{expression}` makes {rows.result} of {rows.given}, and dimension 0 of it no longer counts the samples"
    if rows.result:
        because = f"`{expression}` makes {rows.result} of {rows.given}: {rows.samples} samples become {rows.result[0]} rows"
    match rows.at.parsed().body:
        case [ast.Expr(ast.Call(ast.Attribute(value)))]:
            owner = ast.unparse(ast.Attribute(value, "", ast.Load()))
        case _:
            owner = ""
    if rows.operation == "squeeze":
        advice = f"{owner}squeeze(-1) keeps the samples where there is one alone"
        other = (*found.other, ("the samples' dimension is lost here", rows.at))
        return replace(found, because=(*found.because, because), advice=(advice,), other=other)
    if rows.operation in ("cat", "concat"):
        advice = f"dim=1 in `{expression}` keeps the {rows.samples} samples: {rows.kept}"
        other = (*found.other, ("samples become rows here", rows.at))
        return replace(found, because=(*found.because, because), advice=(advice,), other=other)
    advice = f"{owner}flatten(1) keeps the {rows.samples} samples: ({rows.samples}, {rest})"
    advice += f", and {rows.taker} takes {rest} features then" if rows.taker else ""
    kept = math.prod(rows.given) == math.prod(rows.result)
    other = (*found.other, ("the samples become other rows here", rows.at))
    return replace(
        found, because=(*found.because, because), advice=(advice,) if kept else found.advice, other=other
    )


def _watched(scene: Scene, one: Operand, samples: int) -> _Rows | None:
    """The forward pass that gave an operand, made again with the arguments that it has now."""
    user = scene.user
    match _call_of(one):
        case ast.Call(function, arguments, []) if user is not None:
            model = value_of(function, user.names)
            given = [value_of(argument, user.names) for argument in arguments]
        case _:
            return None
    if not isinstance(model, nn.Module) or not any(
        each.shape[:1] == (samples,) for each in tensors_in(given)
    ):
        return None
    return _again(model, given, samples)


def _again(model: nn.Module, given: Any, samples: int) -> _Rows | None:
    """A forward pass of a copy, up to its end or to where it fails once more."""
    copied = copy_of(model)
    if copied is None:
        return None
    rows = _Rows(samples, copied)
    with undisturbed(), torch.no_grad(), rows, suppress(Exception):  # whatever it says of what it is given
        copied(*detached(given))
    return rows


def _call_of(one: Operand) -> ast.expr | None:
    """The call that gave an operand: what it is called, or the right side of the assignment to its name."""
    match one.made_at.parsed().body if one.made_at is not None else []:
        case [ast.Assign([ast.Name(name)], value)] if name == one.name:
            return value
    try:
        return ast.parse(one.name, mode="eval").body
    except SyntaxError:  # in words
        return None
