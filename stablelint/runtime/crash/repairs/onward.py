"""Whether the statements behind a failed expression take what a change makes of it, computed without an element."""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.deduced import value_without_elements
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import parse_file, raw_position
from stablelint.runtime.program.nodes import blocks_around, owner_of

_RESULT = "result of the expression"  # no name of the program
_STATEMENTS = 3  # behind the failing one, that are asked


def goes_on(scene: Scene, result: Any, changed: dict[str, Any]) -> bool | None:
    """Whether what follows takes a result, with changed operands by name there, or as they were.

    None where nothing that uses it can be told.
    """
    if scene.user is None or not isinstance(result, torch.Tensor):
        return None
    first = _goes_on(scene, {**scene.user.names, _RESULT: result})
    if first is not False or not changed:
        return first
    return _goes_on(scene, {**scene.user.names, **changed, _RESULT: result})


def _goes_on(scene: Scene, names: dict[str, Any]) -> bool | None:
    node = node_at(scene.user.site) if scene.user is not None else None
    using, passed = {_RESULT}, None
    with undisturbed(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in _from(scene, node):
            used = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)} & using
            value = getattr(statement, "value", None)
            if not isinstance(statement, ast.Assign | ast.Return) or value is None:
                return passed  # what is not kept is done for its effects
            try:
                found = value_without_elements(value, names)
            except LookupError:
                return passed
            except Exception:  # whatever torch says: it does not take it
                return False if used else passed
            passed = True if used and not _is_result(value) else passed
            bound = set(_bound(statement, found, names))
            using = using | bound if used else using - bound
    return passed


def _from(scene: Scene, node: ast.AST | None) -> Iterator[ast.stmt]:
    """The failing statement, with its failing expression replaced by a name, and those behind it in its block."""
    assert scene.user is not None
    code = scene.user.site.code
    tree = parse_file(code.co_filename)
    owner = owner_of(tree, code) if tree is not None else None
    row, _, column, _ = raw_position(code, scene.user.site.offset)
    if owner is None or node is None or row is None or column is None:
        return
    block, place = (blocks_around(owner[0], row, column) or [([], 0)])[-1]
    for one in block[place : place + 1]:
        yield copy.deepcopy(one, {id(node): ast.Name(_RESULT, ast.Load())})
    yield from block[place + 1 : place + 1 + _STATEMENTS]


def _is_result(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == _RESULT


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
