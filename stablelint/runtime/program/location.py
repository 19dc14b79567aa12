"""A place in the program: a file, the extent of an expression, and its text."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from stablelint.diagnostic import Position, Span


@dataclass(frozen=True, slots=True)
class Location:
    """An expression in a source file; `span` is None where the interpreter kept no columns."""

    filename: str
    row: int
    span: Span | None
    expression: str
    function: str

    @classmethod
    def of(cls, node: ast.stmt | ast.expr, filename: str, function: str = "") -> Location:
        """A node of a file's syntax, with its text as it would be written."""
        end_row, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        span = Span(Position(node.lineno, node.col_offset + 1), Position(end_row, end_column + 1))
        return cls(filename, node.lineno, span, ast.unparse(node), function)

    def parsed(self) -> ast.Module:
        """The syntax of the text, of a `for` without its body; empty where the text is part of a statement."""
        for text in (self.expression, f"{self.expression}: ..."):
            with suppress(SyntaxError):
                return ast.parse(text)
        return ast.Module([], [])

    def as_json(self) -> dict[str, Any]:
        """File, start, end and text of the expression."""
        start = {"row": self.row, "column": None} if self.row else None
        place = {"location": start, "end_location": None} if self.span is None else self.span.as_json()
        return {"filename": self.filename, **place, "expression": self.expression}


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Program text that is in no file, what it is called (`In[3]`, `-c`), and that of the cells which ran before it."""

    text: str
    name: str
    before: str = ""


def place_json(location: Location | None) -> dict[str, Any]:
    """File, start, end and text of an expression; None for each where there is none."""
    if location is not None:
        return location.as_json()
    return {"filename": None, "location": None, "end_location": None, "expression": None}


_NAMES = {"<string>": "-c", "<stdin>": "standard input"}


def keep_command_line() -> None:
    """What `python -c` was given is kept where tracebacks look for lines of files."""
    words = sys.orig_argv
    if "-c" in words[1:-1] and "<string>" not in linecache.cache:
        source = words[words.index("-c") + 1]
        linecache.cache["<string>"] = (len(source), None, source.splitlines(keepends=True), "<string>")


def unsaved(filename: str) -> Unsaved | None:
    """The text behind a file name that is no file's; None where there is a file, or no text."""
    text = "" if os.path.isfile(filename) else "".join(linecache.getlines(filename))
    if not text:
        return None
    numbers = _cells()
    if filename not in numbers:
        return Unsaved(text, _NAMES.get(filename, filename))
    before = "\n".join("".join(linecache.getlines(cell)) for cell in cells_before(filename))
    return Unsaved(text, f"In[{numbers[filename]}]", before + "\n" if before else "")


def cells_before(filename: str) -> list[str]:
    """The file names of the cells that ran before that of a file name, in their order; none where it is no cell's."""
    cells = list(_cells())
    return cells[: cells.index(filename)] if filename in cells else []


def _cells() -> dict[str, int]:
    """The cells of this notebook by their file names, in the order in which they ran, with their numbers."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return dict(getattr(getattr(shell, "compile", None), "_filename_map", {}))
