"""Whether the program goes on from a failed expression with what a change makes of it, computed without an element.

The statements behind the expression are followed in its function, and from its `return` in the functions that called it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.deduced import value_without_elements
from stablelint.runtime.crash.expression import UNKNOWN, node_at
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.layers import Pass, ends_well
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import parse_file, raw_position
from stablelint.runtime.program.nodes import blocks_around, owner_of

_RESULT = "result of the expression"  # no name of the program
_STATEMENTS = 12  # of a function, that are asked


def goes_on(scene: Scene, result: Any, changed: dict[str, Any]) -> bool | None:
    """Whether what follows takes a result, with changed operands by name there, or as they were.

    None where nothing that uses it can be told.
    """
    if scene.user is None or not isinstance(result, torch.Tensor):
        return None
    place = scene.frames.index(scene.user)
    first = _goes_on(scene, place, result, {})
    return _goes_on(scene, place, result, changed) if first is False and changed else first


def fits(scene: Scene, made: Pass | None) -> bool:
    """Whether a pass ends well, and what follows the call of its model takes what it gives, as far as that can be told."""
    frames = [one.site.code.co_name for one in scene.frames]
    place = frames.index("_wrapped_call_impl") - 1 if "_wrapped_call_impl" in frames else -1
    if made is None or not ends_well(made):
        return False
    result = tree_map_only(torch.Tensor, lambda one: one.to("meta"), made.result)
    return place < 0 or _goes_on(scene, place, result, {}) is not False


def _goes_on(scene: Scene, place: int, result: Any, changed: dict[str, Any]) -> bool | None:
    passed: bool | None = None
    for frame in _callers(scene, place):
        run = _Run({**frame.names, **changed, _RESULT: result})
        with undisturbed(), torch.no_grad():
            run.through(_from(frame))
        passed = run.passed if run.passed is not None else passed
        if passed is False or run.returned is UNKNOWN:
            return passed
        result, changed = run.returned, {}
    return passed


def _callers(scene: Scene, place: int) -> Iterator[Frame]:
    """The frame at a place, and those around it as long as each called the one before, itself or as a module."""
    inner: Frame | None = None
    for frame in reversed(scene.frames[: place + 1]):
        if frame.mine and (inner is None or isinstance(node_at(frame.site), ast.Call)):
            yield frame
            inner = frame
        elif frame.site.code.co_name not in ("_call_impl", "_wrapped_call_impl"):
            return


class _Run:
    """Follows statements, with the values of their names."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names, self._using = names, {_RESULT}
        self.passed: bool | None = None  # whether what uses the result takes it
        self.returned: Any = UNKNOWN

    def through(self, statements: Iterator[ast.stmt]) -> None:
        """Follow statements up to one that cannot be told."""
        for one in statements:
            used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)} & self._using
            if isinstance(one, ast.Expr) and not used:
                continue  # done for its effects on others
            if isinstance(one, ast.AugAssign):
                one = ast.Assign([one.target], ast.BinOp(one.target, one.op, one.value))
            value = getattr(one, "value", None)
            if (
                not isinstance(one, ast.Assign | ast.Return)
                or value is None
                or not self._takes(one, value, used)
            ):
                return

    def _takes(self, statement: ast.stmt, value: ast.expr, used: set[str]) -> bool:
        """Whether a statement was followed, and others behind it may be."""
        try:
            found = value_without_elements(value, self._names)
        except LookupError:
            return False
        except Exception:  # whatever torch says: it does not take it
            self.passed = False if used else self.passed
            return False
        if used and not (isinstance(value, ast.Name) and value.id == _RESULT):
            self.passed = True
        bound = set(_bound(statement, found, self._names))
        self._using = self._using | bound if used else self._using - bound
        if isinstance(statement, ast.Return):
            self.returned = found if used else UNKNOWN
        return not isinstance(statement, ast.Return)


def _from(frame: Frame) -> Iterator[ast.stmt]:
    """The failing statement, with its failing expression replaced by a name, and those behind it up to the end of a loop."""
    code, node, tree = frame.site.code, node_at(frame.site), parse_file(frame.site.code.co_filename)
    owner = owner_of(tree, code) if tree is not None else None
    row, _, column, _ = raw_position(code, frame.site.offset)
    if owner is None or node is None or row is None or column is None:
        return
    left, blocks = _STATEMENTS, blocks_around(owner[0], row, column)[::-1]
    for depth, (block, place) in enumerate(blocks):
        if depth and not isinstance(block[place], ast.If | ast.With):
            return
        if not depth:
            yield copy.deepcopy(block[place], {id(node): ast.Name(_RESULT, ast.Load())})
        yield from block[place + 1 : place + 1 + left]
        left = max(0, left - len(block[place + 1 :]))


def _bound(statement: ast.stmt, found: Any, names: dict[str, Any]) -> Iterator[str]:
    """Give the targets of an assignment their values, and name them."""
    match statement:
        case ast.Assign([ast.Name(name)]):
            names[name] = found
            yield name
        case ast.Assign([ast.Tuple(parts)]) if isinstance(found, tuple) and len(found) == len(parts):
            for part, one in zip(parts, found, strict=True):
                if isinstance(part, ast.Name):
                    names[part.id] = one
                    yield part.id
