"""The statements behind a value that is not finite: those of a frame that made names which hold such values.

What a name holds that is finite is taken as it is. So a script without a loop runs again only where it went wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from os import PathLike
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType

from stablelint.runtime.guard.source.region import FieldPath, Region
from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import parse_file, raw_position
from stablelint.runtime.program.nodes import SCOPES, blocks_around, owner_of
from stablelint.runtime.tensors.measure import badness_of, tensors_in

_LOOPS = (ast.For, ast.While)
_NO_DATA = (ModuleType, FunctionType, BuiltinFunctionType, type, str, int, float, PathLike, type(None))
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.Return, ast.Break, ast.Continue)


def slice_at(frame: FrameType, with_loading: bool) -> Region | None:
    """The statement that `frame` executes and those before it that made its non-finite names.

    Without loading, what was computed of nothing that the frame holds is taken as it is: it may be a file that is read.
    """
    code = frame.f_code
    row, _, column, _ = raw_position(code, frame.f_lasti)
    tree = parse_file(code.co_filename)
    found = owner_of(tree, code) if tree is not None and row is not None else None
    if found is None or row is None:
        return None
    owner, inside_class = found
    blocks = blocks_around(owner, row, column or 0)
    statement = blocks[-1][0][blocks[-1][1]] if blocks else None
    if statement is None or isinstance(statement, (*SCOPES, ast.With, ast.Try)):
        return None
    before = [one for block, index in blocks for one in block[:index]]
    chosen = [statement]
    wanted = _bad_names(statement, frame.f_locals, frame.f_globals)
    for earlier in reversed(before):
        if isinstance(earlier, (*SCOPES, *_LOOPS)) or _suspends(earlier):
            continue
        made = written_names([earlier]) & wanted
        if made and (with_loading or _takes_data(earlier, frame.f_locals, frame.f_globals)):
            chosen.insert(0, earlier)
            wanted = (wanted - made) | _bad_names(earlier, frame.f_locals, frame.f_globals)
    nothing: frozenset[str] = frozenset()
    shown = _path_to(statement, raw_position(code, frame.f_lasti))
    body = tuple(chosen)
    return Region(code, body, None, owner, inside_class, nothing, nothing, (), chosen=True, shown=shown)


def _takes_data(statement: ast.stmt, own: Mapping[str, object], outer: Mapping[str, object]) -> bool:
    """Whether a statement reads a name that stands for more than code or plain values."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    values = (own.get(one.id, outer.get(one.id)) for one in names if isinstance(one.ctx, ast.Load))
    return any(not isinstance(value, _NO_DATA) for value in values)


def _path_to(statement: ast.stmt, position: tuple[int | None, ...]) -> FieldPath:
    """The way to the expression of a statement that stands at a position: start and end row, start and end column."""
    row, end_row, column, end_column = position
    best: FieldPath = ()
    pending: list[tuple[ast.AST, FieldPath]] = [(statement, ())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, ast.expr) and (node.end_lineno, node.end_col_offset) == (end_row, end_column):
            if (node.lineno, node.col_offset) == (row, column):
                return path
            # Of a call over several rows the interpreter knows where the method's name starts.
            best = path if isinstance(node, ast.Call) else best
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                pending.append((value, (*path, (name, None))))
            elif isinstance(value, list):
                pending.extend(
                    (one, (*path, (name, at))) for at, one in enumerate(value) if isinstance(one, ast.AST)
                )
    return best


def _suspends(statement: ast.stmt) -> bool:
    return any(isinstance(node, _SUSPENDING) for node in ast.walk(statement))


def _bad_names(statement: ast.stmt, own: Mapping[str, object], outer: Mapping[str, object]) -> frozenset[str]:
    """Names that a statement reads and that hold values which are not finite."""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return frozenset(
        name for name in names if any(badness_of(one) for one in tensors_in(own.get(name, outer.get(name))))
    )
