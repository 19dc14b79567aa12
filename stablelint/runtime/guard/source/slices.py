"""The statements behind a value that is not finite: those of a frame that made names which hold such values.

What a name holds that is finite is taken as it is. So a script without a loop runs again only where it went wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, FunctionType, ModuleType

import torch

from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import compile_calmly, parse_file, raw_position
from stablelint.runtime.program.location import cells_before
from stablelint.runtime.program.nodes import SCOPES, blocks_around, is_top_level, owner_of
from stablelint.runtime.program.region import FieldPath, Region
from stablelint.runtime.tensors.measure import badness_of, tensors_in
from stablelint.syntax.names import called_name, names_in

_LOOPS = (ast.For, ast.While)
_NO_HOLDERS = (
    torch.nn.Module,
    ModuleType,
    FunctionType,
    type,
)  # the attributes of these are not made by one statement
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await, ast.Return, ast.Break, ast.Continue)


_NOTHING: frozenset[str] = frozenset()


def slices_at(frame: FrameType) -> Iterator[Region]:
    """The statement that `frame` executes and those before it that made its non-finite names.

    Then, should a gradient be at fault, also those that made the graph which it came through: that graph is freed.
    """
    seen: set[tuple[ast.stmt, ...]] = set()
    values = {**frame.f_globals, **frame.f_locals}
    for is_anew in (is_bad, _is_bad_or_has_graph):
        region = _slice_at(frame, values, is_anew)
        if region is not None and region.body not in seen:
            seen.add(region.body)
            yield region


def slices_of_cells(frame: FrameType) -> Iterator[Region]:
    """Of each cell of a notebook that ran before the one of `frame`, what made values that are not finite."""
    earlier = cells_before(frame.f_code.co_filename) if is_top_level(frame.f_code) else []
    values = frame.f_globals
    bad = {name for name, value in list(values.items()) if earlier and is_bad(value)}
    for cell in reversed(earlier):
        tree = parse_file(cell)
        for place, statement in enumerate(tree.body if tree is not None else ()):
            if tree is not None and isinstance(statement, ast.Assign) and written_names([statement]) & bad:
                body = _with_what_made(statement, tree.body[:place], values, is_bad)
                code, value = compile_calmly(tree, cell), (("value", None),)
                yield Region(
                    code, tree, body, None, tree, None, _NOTHING, _NOTHING, (), chosen=True, shown=value
                )


def is_bad(value: object) -> bool:
    """Whether a value is a tensor that is not finite, or holds one."""
    return any(badness_of(one) for one in _held_by(value))


def _is_bad_or_has_graph(value: object) -> bool:
    return any(one.grad_fn is not None or badness_of(one) for one in _held_by(value))


def _held_by(value: object) -> Iterator[torch.Tensor]:
    """The tensors in a value, or that an object of the program has made its attributes."""
    yield from tensors_in(value)
    if not isinstance(value, _NO_HOLDERS) and not type(value).__module__.startswith("torch."):
        yield from tensors_in(list(getattr(value, "__dict__", {}).values()))


def _slice_at(
    frame: FrameType, values: Mapping[str, object], is_anew: Callable[[object], bool]
) -> Region | None:
    """The statement that `frame` executes, and those before it that made values which are to be made anew."""
    code = frame.f_code
    row, _, column, _ = raw_position(code, frame.f_lasti)
    tree = parse_file(code.co_filename)
    found = owner_of(tree, code) if tree is not None and row is not None else None
    if tree is None or found is None or row is None:
        return None
    owner, inside_class = found
    blocks = blocks_around(owner, row, column or 0)
    statement = blocks[-1][0][blocks[-1][1]] if blocks else None
    if statement is None or isinstance(statement, (*SCOPES, ast.With, ast.Try)):
        return None
    before = [one for block, index in blocks for one in block[:index]]
    body = _with_what_made(statement, before, values, is_anew)
    shown = _path_to(statement, raw_position(code, frame.f_lasti))
    return Region(
        code, tree, body, None, owner, inside_class, _NOTHING, _NOTHING, (), chosen=True, shown=shown
    )


def _with_what_made(
    statement: ast.stmt,
    before: Sequence[ast.stmt],
    values: Mapping[str, object],
    is_anew: Callable[[object], bool],
) -> tuple[ast.stmt, ...]:
    """A statement, after those before it that made values which it reads and which are to be made anew."""
    chosen = [statement]
    wanted = _read(statement, values, is_anew)
    for earlier in reversed(before):
        within = list(ast.walk(earlier))
        if isinstance(earlier, (*SCOPES, *_LOOPS)) or any(isinstance(one, _SUSPENDING) for one in within):
            continue
        read = _read(earlier, values, is_anew)
        made = written_names([earlier]) & wanted
        calls = (called_name(one) for one in within if isinstance(one, ast.Call))
        if made or (read and "backward" in calls):
            chosen.insert(0, earlier)
            wanted = (wanted - made) | read
    return tuple(chosen)


def _read(
    statement: ast.stmt, values: Mapping[str, object], is_anew: Callable[[object], bool]
) -> frozenset[str]:
    """Names that a statement reads and that hold values which are to be made anew."""
    return frozenset(name for name in names_in(statement) if is_anew(values.get(name)))


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
