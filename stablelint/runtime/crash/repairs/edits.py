"""Changes of the program's text and of its layers, as they are made in a copy of the process."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.repairs.remade import remade
from stablelint.runtime.program.frames import compile_calmly, parse_file
from stablelint.runtime.program.swapped import counterparts, functions_of

Span = tuple[int, int, int | None, int | None]


def span_of(node: ast.expr) -> Span:
    """The rows and columns of an expression."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


@dataclass(frozen=True, slots=True)
class Edit:
    """An expression of the program, and what stands in its place."""

    filename: str
    span: Span
    text: str
    original: str = ""

    @classmethod
    def of(cls, node: ast.expr, filename: str, text: str) -> Edit:
        """An edit of an expression of a file."""
        return cls(filename, span_of(node), text, ast.unparse(node))


@dataclass(frozen=True, slots=True)
class Setting:
    """A layer, by its identity, which a fork keeps, and what it is made with instead."""

    layer: int
    changed: tuple[tuple[str, Any], ...]


Revision = Edit | Setting


def make(revisions: Iterable[Revision], frames: list[Frame]) -> None:
    """From now on this process runs the program revised. Raises LookupError for a layer that no module holds."""
    changes = list(revisions)
    for one in (one for one in changes if isinstance(one, Setting)):
        _remake(one, frames)
    scopes = [each for one in frames if one.mine for each in (one.frame.f_globals, one.frame.f_locals)]
    for scope in scopes[::2]:  # what repairs are written with
        for name, value in (("torch", torch), ("nn", nn), ("F", nn.functional)):
            scope.setdefault(name, value)
    edits = [one for one in changes if isinstance(one, Edit)]
    for filename in {one.filename for one in edits}:
        for function, code in counterparts(functions_of(filename, scopes), edited(filename, edits)):
            function.__code__ = code


def edited(filename: str, edits: Iterable[Edit]) -> CodeType:
    """The code of a file with those edits that are of it, from now on also in the tree that this process keeps."""
    tree = parse_file(filename) or ast.Module([], [])
    _Edited([one for one in edits if one.filename == filename]).visit(tree)
    code: CodeType = compile_calmly(copy.deepcopy(ast.fix_missing_locations(tree)), filename)
    return code


def _remake(setting: Setting, frames: list[Frame]) -> None:
    named = [pair for one in frames for pair in one.frame.f_locals.items() if isinstance(pair[1], nn.Module)]
    tables: list[dict[str, Any]] = [inner._modules for _, one in named for inner in one.modules()]
    for table in (*tables, *(one.frame.f_globals for one in frames if one.mine)):
        for name, layer in [*table.items()]:
            if id(layer) == setting.layer and (other := remade(layer, dict(setting.changed))) is not None:
                table[name] = other
                return
    raise LookupError


class _Edited(ast.NodeTransformer):
    """A tree with edits in it; what is new stands where the old stood."""

    def __init__(self, edits: list[Edit]) -> None:
        self._texts = {one.span: one.text for one in edits}

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        text = self._texts.pop(span_of(node), None) if isinstance(node, ast.expr) else None
        if text is None:
            return node
        new = ast.parse(text, mode="eval").body
        for one in ast.walk(new):
            ast.copy_location(one, node)
        return new
