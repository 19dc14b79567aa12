"""The statement that made an operand, written otherwise: along another dimension, or with another number of its function."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator

import torch

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.replay import goes_on
from stablelint.runtime.crash.repairs.tensors import is_elementwise
from stablelint.runtime.crash.scene import Scene
from stablelint.syntax.operations import method

Parts = Iterator[tuple[ast.expr, ast.expr]]  # of an expression, and what may stand in the place of each


def made_otherwise(scene: Scene, call: Call, parts: Callable[[ast.expr, Frame], Parts]) -> Iterator[str]:
    """The changes of statements that made operands of a call, with which it passes and what follows goes on."""
    for place, operand in enumerate(call.values):
        name = call.texts.get(id(operand), "") if isinstance(operand, torch.Tensor) else ""
        at = scene.made(ast.Name(name, ast.Load())) if name.isidentifier() else None
        match at.parsed().body if at is not None else []:
            case [ast.Assign([ast.Name(target)], value)] if target == name and scene.user is not None:
                now = deduced(value, scene.user.names)
                known = isinstance(now, torch.Tensor) and now.shape == operand.shape
                for part, other in parts(value, scene.user) if known else ():
                    changed = copy.deepcopy(value, {id(part): other})
                    made = deduced(changed, scene.user.names)
                    if isinstance(made, torch.Tensor) and _passes(scene, call, place, made):
                        yield f"{name} = {ast.unparse(changed)} passes, and gives {tuple(made.shape)}"


def along_others(whole: ast.expr, user: Frame) -> Parts:
    """The dimension that an operation is told, and the others of its operand."""
    for node in ast.walk(whole):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_function = inspect.ismodule(value_of(node.func.value, user.names))
        found, given = method(node.func.attr), node.args if is_function else [node.func.value, *node.args]
        placed: dict[str | None, ast.expr] = {one.arg: one.value for one in node.keywords}
        if found is not None:
            placed.update(zip(found[0].parameters, given, strict=False))
        dim = placed.get("dim")
        now = value_of(dim, user.names) if dim is not None else None
        operand = deduced(given[0], user.names) if given and isinstance(now, int) else None
        if dim is not None and isinstance(operand, torch.Tensor) and isinstance(now, int):
            others = (one for one in range(operand.dim()) if one != now % operand.dim())
            yield from ((dim, ast.Constant(one)) for one in others)


def with_others(whole: ast.expr, user: Frame) -> Parts:
    """A number that has a name in the function, and the others that have."""
    numbers = {name: value for name, value in user.frame.f_locals.items() if type(value) is int}
    for node in ast.walk(whole):
        if isinstance(node, ast.Name) and node.id in numbers:
            others = (one for one, value in numbers.items() if value != numbers[node.id])
            yield from ((node, ast.Name(one, ast.Load())) for one in others)


def _passes(scene: Scene, call: Call, place: int, made: torch.Tensor) -> bool:
    """Whether a call, unless it broadcasts, takes a tensor in a place, and what follows takes the result."""
    most = max(one.dim() for one in call.values if isinstance(one, torch.Tensor))
    if is_elementwise(call) and made.dim() < most:
        return False
    try:
        result = call.given(place, made).result()
    except Exception:  # whatever torch says
        return False
    return goes_on(scene, result, {call.texts[id(call.values[place])]: made}) is not False
