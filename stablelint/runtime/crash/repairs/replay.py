"""Whether the program goes on from a failed expression with what a change makes of it, computed without an element.

The statements behind the expression are followed in its function, and from its `return` in the functions that called it.
"""

from __future__ import annotations

import ast
import copy
import operator
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
        node = node_at(frame.site)
        run = _Run({**frame.names, **changed, _RESULT: result}, {_RESULT})
        known = {id(node): ast.Name(_RESULT, ast.Load())}
        run.through([copy.deepcopy(one, known) for one in _from(frame)])
        passed = run.passed if run.passed is not None else passed
        if passed is False or run.returned is UNKNOWN:
            return passed
        result, changed = run.returned, {}
    return passed


def rerun(scene: Scene, changed: ast.stmt, between: list[ast.stmt]) -> bool | None:
    """Whether the failing statement, and what follows, passes after another one and those between; None if none can tell."""
    assert scene.user is not None
    found, run = _from(scene.user), _Run(scene.user.names, set())
    if not found or not run.through([changed], anew=True):
        return None
    if run.through([*between, found[0]]):
        run.through(found[1:])
        return run.passed
    if run.returned is not UNKNOWN:
        return _returned(scene, run.returned)
    return False if run.passed is False else None


def _returned(scene: Scene, result: Any) -> bool:
    """Whether the callers of the failing function take what it returns, as far as that can be told."""
    place = scene.frames.index(scene.user) - 1 if scene.user is not None else -1
    return _goes_on(scene, place, result, {}) is not False


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
    """Follows statements, with the values of their names; `using` are those that depend on what was changed."""

    def __init__(self, names: dict[str, Any], using: set[str]) -> None:
        self._names, self._using = dict(names), using
        self.passed: bool | None = None  # whether what uses the result takes it
        self.returned: Any = UNKNOWN

    def through(self, statements: list[ast.stmt], anew: bool = False) -> bool:
        """Follow statements up to one that cannot be told, `anew` as if they used the result; whether all were followed."""
        with undisturbed(), torch.no_grad():
            return all(self._follows(one, anew) for one in statements)

    def _follows(self, one: ast.stmt, anew: bool) -> bool:
        used = {node.id for node in ast.walk(one) if isinstance(node, ast.Name)} & self._using
        if isinstance(one, ast.Expr) and not used:
            return True  # done for its effects on others
        if isinstance(one, ast.AugAssign):
            one = ast.Assign([one.target], ast.BinOp(one.target, one.op, one.value))
        value = getattr(one, "value", None)
        known = isinstance(one, ast.Assign | ast.Return) and value is not None
        return known and value is not None and self._takes(one, value, bool(used) or anew)

    def _takes(self, statement: ast.stmt, value: ast.expr, used: bool) -> bool:
        """Whether a statement was followed, and others behind it may be."""
        try:
            found = value_without_elements(value, self._names)
            bound = set(_bound(statement, found, self._names))
        except LookupError:
            return False
        except Exception:  # whatever torch says: it does not take it
            self.passed = False if used else self.passed
            return False
        if used and not (isinstance(value, ast.Name) and value.id == _RESULT):
            self.passed = True
        self._using = self._using | bound if used else self._using - bound
        if isinstance(statement, ast.Return):
            self.returned = found if used else UNKNOWN
        return not isinstance(statement, ast.Return)


def _from(frame: Frame) -> list[ast.stmt]:
    """The failing statement, and those behind it up to the end of a loop."""
    found = list[ast.stmt]()
    for block, place in _blocks(frame)[::-1]:
        if found and not isinstance(block[place], ast.If | ast.With):
            break
        found += block[place + bool(found) :]
    return found[:_STATEMENTS]


def led_to(frame: Frame) -> list[ast.stmt]:
    """The statements before the failing one, in its block and those around it."""
    return [one for block, place in _blocks(frame) for one in block[:place]][-_STATEMENTS:]


def _blocks(frame: Frame) -> list[tuple[list[ast.stmt], int]]:
    code, tree = frame.site.code, parse_file(frame.site.code.co_filename)
    owner = owner_of(tree, code) if tree is not None else None
    row, _, column, _ = raw_position(code, frame.site.offset)
    if owner is None or row is None or column is None:
        return []
    return blocks_around(owner[0], row, column)


def _bound(statement: ast.stmt, found: Any, names: dict[str, Any]) -> Iterator[str]:
    """Give the targets of an assignment their values, and name them."""
    match statement:
        case ast.Assign([ast.Name(name)]):
            names[name] = found
            yield name
        case ast.Assign([ast.Subscript(ast.Name(name) as whole, index)]):
            written = value_without_elements(whole, names)
            operator.setitem(written, value_without_elements(index, names), found)
            yield name
        case ast.Assign([ast.Tuple(parts)]) if isinstance(found, tuple) and len(found) == len(parts):
            for part, one in zip(parts, found, strict=True):
                if isinstance(part, ast.Name):
                    names[part.id] = one
                    yield part.id
