"""Changes of the program's text and of its layers, as they are made in a copy of the process."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

import torch
from torch import nn

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.repairs.remade import remade
from stablelint.runtime.program.frames import compile_calmly, parse_file
from stablelint.runtime.program.swapped import counterparts, functions_of

Span = tuple[int, int, int | None, int | None]


def span_of(node: ast.expr | ast.stmt) -> Span:
    """The rows and columns of an expression or a statement."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


@dataclass(frozen=True, slots=True)
class Edit:
    """An expression or a statement of the program, and what stands in its place."""

    filename: str
    span: Span
    text: str
    original: str = ""
    kind: Literal["expression", "statement", "behind"] = "expression"

    @classmethod
    def of(cls, node: ast.expr | ast.stmt, filename: str, text: str) -> Edit:
        """An edit of an expression or a statement of a file."""
        kind: Literal["expression", "statement"] = "statement" if isinstance(node, ast.stmt) else "expression"
        return cls(filename, span_of(node), text, ast.unparse(node), kind)

    @classmethod
    def behind(cls, node: ast.stmt, filename: str, text: str) -> Edit:
        """An edit that adds statements behind one of a file."""
        return cls(filename, span_of(node), text, ast.unparse(node), "behind")


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
    """A tree with edits in it."""

    def __init__(self, edits: list[Edit]) -> None:
        self._texts = {(one.span, one.kind): one.text for one in edits}

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        if isinstance(node, ast.expr):
            text = self._texts.pop((span_of(node), "expression"), None)
            return node if text is None else _placed([ast.parse(text, mode="eval").body], node)[0]
        if not isinstance(node, ast.stmt):
            return node
        text, more = (self._texts.pop((span_of(node), kind), "") for kind in ("statement", "behind"))
        first = _placed(ast.parse(text).body, node) if text else [node]
        return [*first, *_placed(ast.parse(more).body, node)]


def _placed(new: list[Any], old: ast.expr | ast.stmt) -> list[Any]:
    """What is new, where the old stood."""
    for one in (each for part in new for each in ast.walk(part)):
        ast.copy_location(one, old)
    return new
