"""Notebooks between the text that is analysed and the cells that are shown and written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.diagnostic import Applicability, Diagnostic, Edit, Position, Problem, Span, Step
from stablelint.syntax.content import NOTEBOOK

if TYPE_CHECKING:
    from stablelint.syntax.notebook import Cell, Notebook

_CELL = re.compile(rf"(.*{re.escape(NOTEBOOK)}):cell (\d+)", re.DOTALL)
_SEVERAL = "none that stays in its cell; `stablelint fix{}` shows one that changes several"


def python_of(data: bytes, path: str) -> bytes:
    """What a file holds as Python. Raises SourceError for a notebook that is none."""
    if not path.endswith(NOTEBOOK):
        return data
    from stablelint.syntax.notebook import read_notebook

    return read_notebook(data, path).text.encode("utf-8", "surrogatepass")


def python_at(path: str) -> bytes:
    """What the file at a path holds as Python. Raises OSError, and SourceError for a notebook that is none."""
    return python_of(Path(path).read_bytes(), path)


def as_file(path: str, text: bytes, after: bytes) -> tuple[bytes, bytes]:
    """What the file at `path`, read as `text`, holds, and what it is to hold for that to be `after`.

    Raises OSError, SourceError, and ValueError where it has changed since, or its cells are lost.
    """
    if not path.endswith(NOTEBOOK):
        return text, after
    from stablelint.syntax.notebook import read_notebook

    data = Path(path).read_bytes()
    notebook = read_notebook(data, path)
    if notebook.text != text.decode("utf-8", "surrogatepass"):
        raise ValueError("changed since it was checked; left alone")
    return data, notebook.with_text(after.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


def cell_of(filename: str) -> tuple[str, int | None]:
    """The file and, for what `in_cells` names, the number of the cell."""
    found = _CELL.fullmatch(filename)
    return (found[1], int(found[2])) if found else (filename, None)


def lines_of_cell(filename: str) -> list[str]:
    """The lines of a cell as they stand in the notebook; none where it is gone."""
    path, number = cell_of(filename)
    notebook = _on_disk(path)
    if notebook is None:
        return []
    found = next((cell.lines for cell in notebook.cells if cell.number == number), ())
    return [notebook.magic.get(line.strip(), line) for line in found]


def hunk_in_cell(path: str, before: bytes, row: int, lines: Sequence[str]) -> list[str]:
    """A hunk that changes the text of a notebook from `row` on, headed by its cells, as the notebook has its lines."""
    notebook = _on_disk(path)
    if notebook is None:
        return list(lines)
    above = before.decode("utf-8", "surrogatepass").split("\n")[: row + 1]
    marks = [notebook.marks.index(line) for line in above if line in notebook.marks]
    numbers = {mark: cell.number for mark, cell in zip(notebook.marks, notebook.cells, strict=True)}
    head = f"@@ cell {notebook.cells[marks[-1] if marks else 0].number} @@"
    shown = [head]
    for at, line in enumerate(body := lines[1:]):
        if line[1:] not in numbers:
            shown.append(line[:1] + notebook.magic.get(line[1:].strip(), line[1:]))
        elif 0 < at < len(body) - 1:
            shown.append(f"@@ cell {numbers[line[1:]]} @@")
    return shown


def in_cells(items: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings with the places of notebooks by cell: each cell is a file, `model.ipynb:cell 3`, with rows from 1."""
    return tuple(_in_cell(item) for item in items)


def problem_in_cell(problem: Problem) -> Problem:
    """A problem with its place by cell."""
    if problem.filename is None or problem.position is None:
        return problem
    cell = _cell(problem.filename, problem.position)
    if cell is None:
        return problem
    name = f"{problem.filename}:cell {cell.number}"
    return problem._replace(filename=name, position=_lowered(problem.position, cell))


def _in_cell(item: Diagnostic) -> Diagnostic:
    own = _cell(item.filename, item.span.start)
    steps = tuple(_step_in_cell(step, item.filename) for step in item.derivation)
    if own is None:
        return replace(item, derivation=steps) if steps != item.derivation else item
    fix, withheld = item.fix, item.fix_withheld
    if fix is not None:
        apart = fix.is_across or any(_cell(item.filename, edit.span.start) != own for edit in fix.edits)
        flag = "" if fix.applicability is Applicability.SAFE else " --unsafe-fixes"
        if apart:
            fix, withheld = None, _SEVERAL.format(flag)
        else:
            fix = fix._replace(edits=tuple(Edit(_span(one.span, own), one.content) for one in fix.edits))
    return replace(
        item,
        filename=f"{item.filename}:cell {own.number}",
        span=_span(item.span, own),
        derivation=steps,
        fix=fix,
        fix_withheld=withheld,
    )


def _step_in_cell(step: Step, filename: str) -> Step:
    path = step.filename or filename
    cell = _cell(path, step.span.start)
    if cell is None:
        return step
    return step._replace(span=_span(step.span, cell), filename=f"{path}:cell {cell.number}")


def _span(span: Span, cell: Cell) -> Span:
    return Span(_lowered(span.start, cell), _lowered(span.end, cell))


def _lowered(position: Position, cell: Cell) -> Position:
    return Position(max(position.row - cell.first + 1, 1), position.column)


def _cell(path: str, position: Position) -> Cell | None:
    notebook = _on_disk(path) if path.endswith(NOTEBOOK) else None
    return notebook.cell_at(position.row) if notebook is not None else None


def _on_disk(path: str) -> Notebook | None:
    try:
        return _read(path, os.stat(path).st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=8)
def _read(path: str, _written: int) -> Notebook | None:
    from stablelint.syntax.notebook import read_notebook
    from stablelint.syntax.source import SourceError

    try:
        return read_notebook(Path(path).read_bytes(), path)
    except (OSError, SourceError):
        return None
