"""From running Python frames to expressions: which frames are the user's, and what text they execute."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from stablelint.diagnostic import Position, Span
from stablelint.runtime.process.traceback import OWN, frames_from
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import call_that_ends_at, is_top_level
from stablelint.runtime.program.threads import is_installed

_LIBRARY_ROOTS = os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), ""), OWN
_RUNNERS = frozenset(
    {"runpy", "_pytest", "pluggy", "unittest", "IPython", "ipykernel", "threading", "multiprocessing"}
)
_FRAMES = 12  # of the user, in which a training step is looked for


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction in user code; resolved to an expression only when it is reported."""

    code: CodeType
    offset: int  # of the instruction, in bytes


@lru_cache(maxsize=4096)
def is_library(filename: str) -> bool:
    """Whether a file belongs to torch, to this package or to the interpreter's frozen modules."""
    return filename.startswith(("<frozen", "<stablelint")) or os.path.abspath(filename).startswith(
        _LIBRARY_ROOTS
    )


def is_of_program(filename: str) -> bool:
    """Whether a file is neither of torch and this package nor of what is installed."""
    return not is_library(filename) and not is_installed(filename)


def user_frames(frame: FrameType | None, limit: int = 64) -> Iterator[FrameType]:
    """The frames of user code from `frame` outwards."""
    return islice((one for one in frames_from(frame) if not is_library(one.f_code.co_filename)), limit)


def user_frame() -> FrameType | None:
    """The innermost frame of user code."""
    return next(user_frames(sys._getframe(1), 1), None)


def step_frames(frame: FrameType | None, limit: int = _FRAMES) -> Iterator[FrameType]:
    """The user frames that can hold a training step: up to the script, not the program that runs it."""
    for user in user_frames(frame, limit):
        module = str(user.f_globals.get("__name__", "")).partition(".")[0]
        if module in _RUNNERS:
            return
        yield user
        if is_top_level(user.f_code):
            return


def site_of(frame: FrameType) -> Site:
    """The instruction that `frame` is executing."""
    return Site(frame.f_code, frame.f_lasti)


def raw_position(code: CodeType, offset: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Start row, end row, start column, end column of an instruction (columns count UTF-8 bytes from 0)."""
    return next(islice(code.co_positions(), offset // 2, None), (code.co_firstlineno, None, None, None))


def resolve(site: Site) -> Location:
    """The expression a site executes, with the exact columns where the interpreter keeps them."""
    code = site.code
    row, end_row, column, end_column = raw_position(code, site.offset)
    row = row or code.co_firstlineno
    lines = linecache.getlines(code.co_filename)
    function = code.co_qualname
    if end_row is None or column is None or end_column is None or end_row > len(lines):
        text = lines[row - 1].strip() if 0 < row <= len(lines) else ""
        return Location(code.co_filename, row, None, text, function)
    row, column = _call_start(code.co_filename, row, column, end_row, end_column)
    span = Span(
        Position(row, _characters(lines[row - 1], column) + 1),
        Position(end_row, _characters(lines[end_row - 1], end_column) + 1),
    )
    return Location(code.co_filename, row, span, text_of(lines, span), function)


def text_of(lines: list[str], span: Span) -> str:
    """The source text of `span`."""
    start, end = span.start, span.end
    if start.row == end.row:
        return lines[start.row - 1][start.column - 1 : end.column - 1]
    first = lines[start.row - 1][start.column - 1 :]
    middle = lines[start.row : end.row - 1]
    return "".join([first, *middle, lines[end.row - 1][: end.column - 1]])


def parse_file(filename: str) -> ast.Module | None:
    """The syntax tree of a file as the interpreter ran it, or None where its source is not at hand.

    The same tree for every call and thread: its nodes are compared by identity.
    """
    with _parsing:
        if filename not in _trees:
            if len(_trees) >= _TREES_KEPT:
                _trees.clear()
            _trees[filename] = _parse("".join(linecache.getlines(filename)))
        return _trees[filename]


def compile_calmly(source: str | ast.Module, filename: str, flags: int = 0) -> Any:
    """What `compile` makes, without the caller's own `__future__` features. Raises SyntaxError, ValueError."""
    for _ in range(_TRIES):
        # The parser of CPython 3.11 fails now and then when threads use it at once.
        with suppress(SystemError):
            return compile(source, filename, "exec", dont_inherit=True, flags=flags)
    raise ValueError(f"{filename} cannot be compiled while other threads compile")


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code objects within one, outer ones first."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes_in(constant)


def running(function: FunctionType, code: CodeType, scope: dict[str, Any] | None = None) -> FunctionType:
    """A copy of the function that runs `code`, with the names of its own module or those of `scope`."""
    names = function.__globals__ if scope is None else scope
    copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _parse(source: str) -> ast.Module | None:
    try:
        tree = compile_calmly(source, "<unknown>", flags=ast.PyCF_ONLY_AST) if source else None
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Module) else None


_TRIES = 5


_TREES_KEPT = 256
_trees: dict[str, ast.Module | None] = {}
_parsing = threading.Lock()


def _call_start(filename: str, row: int, column: int, end_row: int, end_column: int) -> tuple[int, int]:
    # For a method call over several lines the interpreter records the method's name as the start; readers
    # (and the static findings) mean the whole expression.
    before = linecache.getline(filename, row).encode()[:column].rstrip()
    if before and not before.endswith(b"."):
        return row, column
    call = call_that_ends_at(parse_file(filename), end_row, end_column)
    method = call.func if call is not None else None
    if call is not None and isinstance(method, ast.Attribute) and method.end_lineno == row:
        if (method.end_col_offset or 0) - len(method.attr.encode()) == column:
            return call.lineno, call.col_offset
    return row, column


def _characters(line: str, byte_column: int) -> int:
    return len(line.encode()[:byte_column].decode(errors="replace"))
