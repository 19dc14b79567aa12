"""A region compiled at its own rows and columns as a function of the frame's names, and closed over their values.

Its loop can go on over what it would have gone over next: the rest of its loader, or of its source.
"""

from __future__ import annotations

import ast
import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, islice
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import codes_in, compile_calmly, step_frames
from stablelint.runtime.program.region import Region, by_itself
from stablelint.runtime.tensors.state import RandomState

_NAME = "__stablelint_region__"
_OPENED = "__stablelint_opened__"
_FUTURE = 0x1FE0000  # the flags of code for its file's own `__future__` features


def bind(region: Region, body: list[ast.stmt], frame: FrameType, values: Mapping[str, Any]) -> BoundRegion:
    """Compile `body` as a function of the frame's names and close it over their values."""
    names = _names(region, frame, values)
    if region.loop is None:
        return _bound(region, body, frame, names)
    once = ast.For(
        target=ast.Name("__stablelint_once__", ast.Store()),
        iter=ast.Tuple([ast.Constant(0)], ast.Load()),
        body=body,
        orelse=[],
    )
    return _bound(region, [ast.copy_location(once, body[0])], frame, names)


def bind_loop(
    region: Region,
    before: list[ast.stmt],
    body: list[ast.stmt],
    frame: FrameType,
    values: Mapping[str, Any],
    items: Iterable[object],
) -> BoundRegion:
    """Like `bind`, but the loop goes on over `items`; a `while` loop as long as its test says so.

    `before` runs once, ahead of the loop. The first pass of a `while` loop is the one under way, and is not
    tested. The region must have a loop.
    """
    names = _names(region, frame, values)
    loop = copy.deepcopy(region.loop)
    assert loop is not None
    loop.body, loop.orelse = body, []
    if isinstance(loop, ast.For):
        names["__stablelint_items__"] = items
        loop.iter = ast.Name("__stablelint_items__", ast.Load())
    else:
        first = iter((True,))
        names["__stablelint_first__"] = lambda: next(first, False)
        is_first = ast.Call(ast.Name("__stablelint_first__", ast.Load()), [], [])
        loop.test = ast.BoolOp(ast.Or(), [is_first, loop.test])
    return _bound(region, [*before, loop], frame, names)


def bind_target(target: ast.expr | None, value: object, into: dict[str, Any]) -> bool:
    """Assign `value` to a loop target as the loop header would; False where the shapes do not match."""
    if isinstance(target, ast.Name):
        into[target.id] = value
        return True
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list)):
        if len(target.elts) != len(value):
            return False
        return all(bind_target(part, item, into) for part, item in zip(target.elts, value, strict=True))
    return False


@dataclass(frozen=True, slots=True, eq=False)
class BoundRegion:
    """A region closed over the values it starts from; a call runs it once."""

    code: CodeType
    function: Callable[..., object]
    arguments: tuple[object, ...]

    def __call__(self) -> object:
        """Run the region."""
        return self.function(*self.arguments)


def _bound(region: Region, body: list[ast.stmt], frame: FrameType, names: Mapping[str, Any]) -> BoundRegion:
    body = [by_itself(_Apart().visit(statement)) for statement in body]
    anchor = body[0]
    names = {**names, _OPENED: opened}
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    function = ast.FunctionDef(_NAME, arguments, body, [], None)
    holder: ast.stmt = ast.copy_location(function, anchor)
    if region.inside_class is not None:
        # Private names and `super()` mean what they mean inside the class.
        holder = ast.ClassDef(region.inside_class, [], [], [function], [])
        ast.copy_location(holder, anchor)
    module = ast.fix_missing_locations(ast.Module([holder], []))
    whole = compile_calmly(module, region.code.co_filename, flags=region.code.co_flags & _FUTURE)
    code = next(one for one in codes_in(whole) if one.co_name == _NAME)
    cells = tuple(CellType(frame.f_locals.get(name)) for name in code.co_freevars)
    run = FunctionType(code, frame.f_globals, _NAME, None, cells)
    return BoundRegion(code, run, tuple(names.values()))


class _Apart(ast.NodeTransformer):
    """Writes of the replay stay in the replay: `nonlocal` names are its own.

    A lock that the step holds already would never open for its replay: whatever may be one is asked about.
    """

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_With(self, node: ast.With) -> ast.stmt:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = _asked(item.context_expr)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("acquire", "release", "locked"):
            node.func.value = _asked(node.func.value)
        return node


def _asked(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(_OPENED, ast.Load()), [value], []), value)


def _names(region: Region, frame: FrameType, values: Mapping[str, Any]) -> dict[str, Any]:
    available = dict(frame.f_locals)
    if frame.f_locals is frame.f_globals:
        written = written_names(region.body)
        available = {name: value for name, value in available.items() if name in written}
    available.update(values)
    names = {name: value for name, value in available.items() if name.isidentifier() and name != "__class__"}
    inner = (node for statement in region.body for node in ast.walk(statement))
    declared = {name for node in inner if isinstance(node, ast.Global) for name in node.names}
    names = {name: value for name, value in names.items() if name not in declared}
    first = region.code.co_varnames[0] if region.code.co_argcount else None
    if first in names:  # `super()` looks at the first argument
        names = {first: names.pop(first), **names}
    return names


_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Semaphore)


class _Open:
    """Stands for a lock, which is the step's: nobody is waited for, and nobody let in."""

    def acquire(self, *_: object, **__: object) -> bool:
        return True

    def release(self, *_: object) -> None:
        return None

    __enter__ = locked = acquire
    __exit__ = release


def opened(value: object) -> object:
    """What a replay uses in place of a value: a lock that is open, where it is one."""
    return _Open() if isinstance(value, _LOCKS) else value


def items_from(
    region: Region, names: Mapping[str, Any], fetched: object, iterator: object
) -> Iterator[object] | None:
    """The loop's present item and what follows it, or None where the present one cannot be told.

    `fetched` is the last batch of a loader and `iterator` what it came from. A loop that has used up its source
    begins it again.
    """
    loop = region.loop
    if not isinstance(loop, ast.For):
        return None
    try:
        present = _value(loop.target, names)
    except LookupError:
        return None
    following = _following(region, loop, names, present, fetched, iterator)
    return chain((present,), following, _again(loop, names))


def _value(target: ast.expr, names: Mapping[str, Any]) -> object:
    if isinstance(target, ast.Name):
        return names[target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(_value(part, names) for part in target.elts)
    raise LookupError(ast.unparse(target))


def _following(
    region: Region,
    loop: ast.For,
    names: Mapping[str, Any],
    present: object,
    fetched: object,
    iterator: object,
) -> Iterable[object]:
    counted = region.item is None and region.target is not loop.target
    index = present[0] if counted and isinstance(present, tuple) else None
    if isinstance(iterator, _SingleProcessDataLoaderIter) and _is_from(region, names, fetched):
        return zip(count(index + 1), iterator) if isinstance(index, int) else iterator
    source = _evaluate(loop.iter, names)
    if isinstance(source, range) and isinstance(present, int) and present in source:
        return source[source.index(present) + 1 :]
    if isinstance(index, int) and isinstance(source, Iterable) and not _is_used_up(loop.iter, names):
        return islice(source, index + 1, None)
    return source if isinstance(source, Iterable) else ()


def _is_from(region: Region, names: Mapping[str, Any], fetched: object) -> bool:
    """Whether the loop goes over the loader that handed out `fetched`."""
    bound: dict[str, Any] = {}
    if region.target is None or not bind_target(region.target, fetched, bound):
        return False
    return any(names.get(name) is value for name, value in bound.items())


def _is_used_up(source: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether the loop goes over an iterator, which then stands where the loop stands."""
    inner = source.args[0] if isinstance(source, ast.Call) and source.args else source
    value = _evaluate(inner, names) if isinstance(inner, ast.Name) else None
    return isinstance(value, Iterator)


def _again(loop: ast.For, names: Mapping[str, Any]) -> Iterator[object]:
    while True:
        source = _evaluate(loop.iter, names)
        empty = True
        for item in source if isinstance(source, Iterable) else ():
            empty = False
            yield item
        if empty:
            return


def _evaluate(expression: ast.expr, names: Mapping[str, Any]) -> object:
    code = compile(ast.fix_missing_locations(ast.Expression(expression)), "<stablelint loop>", "eval")
    return eval(code, dict(names))


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One way to run the step again."""

    run: Callable[[], object]
    random: RandomState | None
    region: Region | None = None
    frame: FrameType | None = None
    until: tuple[CodeType, int] | None = None  # code and row at which the replay has passed the alarm
    values: tuple[tuple[str, Any], ...] = ()  # what names start from, other than the frame's own values
    renewals: tuple[ast.stmt, ...] = ()

    @property
    def globals(self) -> dict[str, Any] | None:
        """The module's names that the replayed code sees."""
        return self.frame.f_globals if self.frame is not None else None

    @property
    def locals(self) -> dict[str, Any] | None:
        """The names around the replayed code: those of its frame and of the user frames that called it."""
        frames = list(step_frames(self.frame)) if self.frame is not None else []
        return {name: value for frame in reversed(frames) for name, value in frame.f_locals.items()} or None
