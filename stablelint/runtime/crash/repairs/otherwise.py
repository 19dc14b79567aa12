"""A statement before the failing one, written along another dimension."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator

import torch

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.replay import led_to, rerun
from stablelint.runtime.crash.repairs.tensors import is_elementwise
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.carried import carried_names
from stablelint.syntax.operations import function, method


def made_otherwise(scene: Scene, call: Call) -> Iterator[str]:
    """The changes of statements before the failing one, the nearest first, with which it passes and what follows goes on."""
    user = scene.user
    led = led_to(user) if user is not None else []
    for place, statement in reversed(list(enumerate(led))):
        between = led[place + 1 :]
        match statement:
            case ast.Assign([ast.Name(target)], value) if user is not None:
                overwritten = carried_names(led[place:])  # what was read is no longer there
                if overwritten or rerun(scene, statement, between) is not False:
                    continue
                for part, other in _along_others(value, user):
                    changed = copy.deepcopy(value, {id(part): other})
                    made = deduced(changed, user.names)
                    keeps = isinstance(made, torch.Tensor) and not _is_spread(call, made)
                    if keeps and rerun(scene, ast.Assign([ast.Name(target)], changed), between):
                        yield f"{target} = {ast.unparse(changed)} passes, and gives {tuple(made.shape)}"


def _is_spread(call: Call, made: torch.Tensor) -> bool:
    """Whether arithmetic would spread what was made over another operand."""
    most = max((one.dim() for one in call.values if isinstance(one, torch.Tensor)), default=0)
    return is_elementwise(call) and made.dim() < most


def _along_others(whole: ast.expr, user: Frame) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The dimension that an operation is told, and the others of its operand."""
    for node in ast.walk(whole):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_function = inspect.ismodule(value_of(node.func.value, user.names))
        given = node.args if is_function else [node.func.value, *node.args]
        named = function(f"torch.{node.func.attr}") if is_function else (method(node.func.attr) or (None,))[0]
        placed: dict[str | None, ast.expr] = {one.arg: one.value for one in node.keywords}
        if named is not None:
            placed.update(zip(named.parameters, given, strict=False))
        dim = placed.get("dim")
        now = value_of(dim, user.names) if dim is not None else None
        first = [one for part in given[:1] for one in (part.elts if isinstance(part, ast.List) else [part])][
            :1
        ]
        operand = deduced(first[0], user.names) if first and isinstance(now, int) else None
        if dim is not None and isinstance(operand, torch.Tensor) and isinstance(now, int):
            others = (one for one in range(operand.dim()) if one != now % operand.dim())
            yield from ((dim, ast.Constant(one)) for one in others)
