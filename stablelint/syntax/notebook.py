"""Notebooks as Python: the code cells of a `.ipynb` file joined into one text, and written back into their places.

A cell is named by its number among all cells of the notebook, from 1, as Jupyter and ruff count them. What only IPython
understands does nothing in the text, and is written back as it was. Of the file, nothing but the source of the cells
that changed is touched: outputs, metadata, order and layout stay.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stablelint.diagnostic import Position, Problem
from stablelint.records import dataclass, field
from stablelint.syntax.source import SourceError

_MAGIC = re.compile(r"^(\s*)(?:[%!?].*|.*[^=!<>\s#]\?{1,2}|[\w.,\s\[\]()*]+=\s*[%!].*)$")
_OF_PYTHON = ("%%time", "%%capture", "%%prun")  # `%%timeit` as well
_SPACE = re.compile(r"[ \t\r\n]*")
_CELL = "# %% cell "
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number, the row of the text at which it starts, and where its source stands in the file."""

    number: int
    first: int
    lines: Sequence[str]  # as Python reads them
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook that was read. `text` is Python, in which a comment stands above each cell."""

    file: str
    text: str
    cells: tuple[Cell, ...]
    marks: tuple[str, ...]  # the comments, by cell
    # The line of a notebook, by the one that stands for it.
    magic: Mapping[str, str] = field(default_factory=dict)

    def cell_at(self, row: int) -> Cell | None:
        """The cell in which a row of the text stands."""
        place = bisect_right([cell.first for cell in self.cells], row) - 1
        return self.cells[max(place, 0)] if self.cells else None

    def with_text(self, text: str) -> str:
        """The file with the cells of a changed text. Raises ValueError where those cannot be told apart any more."""
        lines = text.split("\n")
        if lost := next(
            (cell for cell, mark in zip(self.cells, self.marks, strict=True) if mark not in lines), None
        ):
            raise ValueError(f"cell {lost.number} of the notebook is lost")
        starts = [lines.index(mark) for mark in self.marks]
        if starts != sorted(starts):
            raise ValueError("the cells of the notebook have lost their order")
        file = self.file
        for number in reversed(range(len(self.cells))):
            cell, end = self.cells[number], (*starts, len(lines))[number + 1]
            above = [line for line in lines[: starts[0]] if line] if number == 0 else []
            own = [*above, *lines[starts[number] + 1 : end]]
            own = own[:-1] if number == len(self.cells) - 1 and own[-1:] == [""] else own
            if own != list(cell.lines):
                source = "\n".join(self.magic.get(line.strip(), line) for line in own)
                old = file[cell.start : cell.end]
                file = file[: cell.start] + _encoded(source, old, self.file.isascii()) + file[cell.end :]
        return file


def read_notebook(data: bytes, filename: str) -> Notebook:
    """Reads a notebook; one in another language than Python has no cells.

    Raises:
        SourceError: It is not a notebook: with the place and the reason.
    """
    try:
        file = data.decode("utf-8")
        content = json.loads(file)
    except UnicodeDecodeError as error:
        raise _malformed(f"byte 0x{data[error.start]:02x} is not UTF-8", filename) from None
    except json.JSONDecodeError as error:
        raise _malformed(error.msg, filename, Position(error.lineno, error.colno)) from None
    except RecursionError:
        raise _malformed("nested too deeply", filename) from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        older = isinstance(content, dict) and "worksheets" in content
        raise _malformed("it is of a format before 4" if older else "it has no list of cells", filename)
    sources = list(_sources(file)) if _is_python(content.get("metadata")) else []
    if None in sources:
        raise _malformed("a cell has no source", filename)
    return _joined(file, [source for source in sources if source is not None])


def without_magic(lines: Sequence[str]) -> list[str]:
    """The lines of a cell as Python reads them: as many, and what only IPython understands does nothing."""
    first = lines[0].lstrip() if lines else ""
    if first.startswith("%%") and not first.startswith(_OF_PYTHON):
        return ["#"] * len(lines)  # a cell in another language
    if _parses("\n".join(lines)):
        return list(lines)
    found: list[str] = []
    continued = False
    for line in lines:
        magic = _MAGIC.match(line)
        found.append("#" if continued else f"{magic[1]}pass" if magic else line)
        continued = (continued or magic is not None) and line.endswith("\\")
    return found


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _malformed(reason: str, filename: str, position: Position | None = None) -> SourceError:
    return SourceError(Problem(f"not a notebook: {reason}", filename, position))


def _is_python(metadata: Any) -> bool:
    facts = metadata if isinstance(metadata, dict) else {}
    kernel, language = facts.get("kernelspec"), facts.get("language_info")
    names = [
        kernel.get("language") if isinstance(kernel, dict) else None,
        language.get("name") if isinstance(language, dict) else None,
    ]
    return all(name is None or "python" in str(name).lower() for name in names)


def _joined(file: str, sources: Sequence[tuple[int, int, int]]) -> Notebook:
    """The text of the cells, whose numbers and places in the file are given."""
    mark = _CELL if _CELL not in file else f"{_CELL}of {len(file)} "
    rows: list[str] = []
    cells: list[Cell] = []
    magic: dict[str, str] = {}
    for number, start, end in sources:
        value = json.loads(file[start:end])
        lines = (value if isinstance(value, str) else "".join(value)).split("\n")
        plain = without_magic(lines)
        for place, (line, own) in enumerate(zip(plain, lines, strict=True)):
            if line != own:
                plain[place] = f"{line}  # IPython {len(magic)}"
                magic[plain[place].strip()] = own
        rows.append(f"{mark}{number}")
        cells.append(Cell(number, len(rows) + 1, plain, start, end))
        rows.extend(plain)
    marks = tuple(f"{mark}{cell.number}" for cell in cells)
    return Notebook(file, "\n".join([*rows, ""]) if rows else "", tuple(cells), marks, magic)


def _sources(file: str) -> Iterator[tuple[int, int, int] | None]:
    """Number, start and end of the source of each code cell; None where one has none that is text."""
    cells = dict(_members(file, _after_space(file, 0)))["cells"]
    for number, start in enumerate(_items(file, cells), 1):
        places = dict(_members(file, start))
        kind = _DECODER.raw_decode(file, places["cell_type"])[0] if "cell_type" in places else None
        if kind != "code":
            continue
        value, end = _DECODER.raw_decode(file, places["source"]) if "source" in places else (None, 0)
        parts = value if isinstance(value, list) else [value]
        yield (number, places["source"], end) if all(isinstance(part, str) for part in parts) else None


def _members(file: str, at: int) -> Iterator[tuple[str, int]]:
    """The names of an object's members, and where their values start; nothing where there is no object."""
    at = _after_space(file, at + 1) if file[at] == "{" else len(file)
    while at < len(file) and file[at] == '"':
        name, at = _DECODER.raw_decode(file, at)
        at = _after_space(file, _after_space(file, at) + 1)
        yield name, at
        at = _next(file, _DECODER.raw_decode(file, at)[1])


def _items(file: str, at: int) -> Iterator[int]:
    """Where the elements of an array start."""
    at = _after_space(file, at + 1)
    while file[at] != "]":
        yield at
        at = _next(file, _DECODER.raw_decode(file, at)[1])


def _next(file: str, at: int) -> int:
    """Past a comma, if one follows."""
    at = _after_space(file, at)
    return _after_space(file, at + 1) if file[at] == "," else at


def _after_space(file: str, at: int) -> int:
    found = _SPACE.match(file, at)
    return found.end() if found else at


def _encoded(source: str, old: str, escaped: bool) -> str:
    """A cell's source as JSON, laid out as it was."""
    if not old.startswith("["):
        return json.dumps(source, ensure_ascii=escaped)
    lines = [json.dumps(line, ensure_ascii=escaped) for line in source.splitlines(keepends=True)]
    opening = old[1 : _after_space(old, 1)]
    closing = old[len(old[:-1].rstrip()) : -1]
    return f"[{opening}" + f",{opening or ' '}".join(lines) + f"{closing}]"
