"""Changes of what stands further out or before: arguments in the wrong places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.pure import is_known
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import resolve

_MOST_ARGUMENTS = 6


def rearranged(scene: Scene) -> Iterator[Repair]:
    """Calls of the program's modules and functions, and of losses, around what failed, with other arguments."""
    for frame in reversed(scene.frames):
        node = node_at(frame.site) if frame.mine else None
        if not isinstance(node, ast.Call) or node.keywords or not 1 < len(node.args) <= _MOST_ARGUMENTS:
            continue
        called, where = value_of(node.func, frame.names), f" in line {resolve(frame.site).row}"
        of_torch = is_known(called) or type(called).__module__.startswith("torch.")
        if callable(called) and (not of_torch or hasattr(called, "reduction")):
            for text in _exchanged(node, frame):
                edit = Edit.of(node, frame.site.code.co_filename, text)
                yield Repair(text, None, revisions=(edit,), where=where)


def _exchanged(node: ast.Call, frame: Frame) -> Iterator[str]:
    """The call with two tensors of different kinds in each other's place, unless one is called as it is taken."""
    taken = given_by_name(node, frame.names)
    free = [
        place
        for place, one in enumerate(node.args)
        if not any(given is one and name == ast.unparse(one) for name, given in taken.items())
    ]
    kinds = {place: _kind(node.args[place], frame) for place in free}
    for one, other in combinations(free, 2):
        if kinds[one] != kinds[other] and None not in (kinds[one], kinds[other]):
            arguments = list(node.args)
            arguments[one], arguments[other] = arguments[other], arguments[one]
            yield ast.unparse(ast.Call(node.func, arguments, []))


def _kind(node: ast.expr, frame: Frame) -> Any:
    value = value_of(node, frame.names)
    value = deduced(node, frame.names) if value is UNKNOWN else value
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else None
