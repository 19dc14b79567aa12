"""Where a forward pass gave other rows than samples: that pass once more on a copy, operation by operation."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from torch import nn

from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.layers import repeated
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in


@dataclass(frozen=True, slots=True)
class _Rows:
    """The last operation that makes other rows of as many as there are samples."""

    samples: int
    at: Location
    given: tuple[int, ...]
    result: tuple[int, ...]
    operation: str
    kept: tuple[int, ...]  # the shape that keeps the samples

    @property
    def only_moves(self) -> bool:
        """Whether the samples merely stand in another dimension, as recurrent layers and their losses take them."""
        return sorted(self.given) == sorted(self.result) and self.samples in self.result


def with_rows(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and where samples became other rows, if that is why its operands do not fit."""
    for one, other in permutations(found.operands, 2):
        if one.shape[:1] != other.shape[:1] and other.shape:
            watched = _watched(scene, one, other.shape[0])
            if watched is not None and watched.result[:1] == one.shape[:1] and not watched.only_moves:
                return _told(found, watched)
    return found


def _told(found: Explanation, rows: _Rows) -> Explanation:
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
    """What a forward pass of a copy, up to its end or to where it fails once more, makes of the samples."""
    made = repeated(model, given, {})
    if made is None:
        return None
    for one in reversed(made.operations):
        shape, result, name = tuple(one.given[0].shape), tuple(one.result.shape), one.function.__name__
        if shape[0] != samples or result[:1] == (samples,) or not (result or name == "squeeze"):
            continue
        kept = (samples, math.prod(shape[1:]))
        if len(one.given) > 1:
            kept = tuple(one.function(one.given, 1).shape) if len(shape) > 1 else ()
        return _Rows(samples, one.at, shape, result, name, kept) if one.at is not None else None
    return None


def _call_of(one: Operand) -> ast.expr | None:
    """The call that gave an operand: what it is called, or the right side of the assignment to its name."""
    match one.made_at.parsed().body if one.made_at is not None else []:
        case [ast.Assign([ast.Name(name)], value)] if name == one.name:
            return value
    try:
        return ast.parse(one.name, mode="eval").body
    except SyntaxError:  # in words
        return None
