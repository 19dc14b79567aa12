"""What every format is given besides the result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from unicodedata import category

from stablelint.diagnostic import Applicability, Diagnostic, Edit, Position, edited
from stablelint.records import dataclass, field
from stablelint.report.style import PIPED_WIDTH, PLAIN, Style
from stablelint.syntax.source import encoding_of, lines_of
from stablelint.workspace.notebooks import cell_of, lines_of_cell

if TYPE_CHECKING:
    from stablelint.catalog import Rule


class Sources:
    """Lines of files, read once. Files that changed or vanished since yield what is there now, or nothing."""

    def __init__(self, held: Mapping[str, bytes] | None = None) -> None:
        self._held = held or {}
        self._lines: dict[str, list[str]] = {}

    def lines(self, filename: str) -> list[str]:
        """The file's lines without their ends; empty if it cannot be read."""
        found = self._lines.get(filename)
        if found is None:
            found = self._lines[filename] = self._read(filename)
        return found

    def _read(self, filename: str) -> list[str]:
        if cell_of(filename)[1] is not None:
            return lines_of_cell(filename)
        try:
            data = self._held.get(filename)
            if data is None:
                with open(filename, "rb") as file:
                    data = file.read()
            return lines_of(data.decode(encoding_of(data), "replace"))
        except (OSError, SyntaxError, LookupError):
            return []


def rewritten(lines: Sequence[str], edits: Sequence[Edit]) -> list[tuple[int, list[str], list[str]]]:
    """The hunks that `edits` make of `lines`: row of the first line, lines removed, lines added."""
    hunks: list[tuple[int, list[str], list[str]]] = []
    for group in _by_rows(edits):
        first, last = group[0].span.start.row, max(edit.span.end.row for edit in group)
        if last > len(lines):
            last = len(lines)
            if first > last:
                continue
        before = list(lines[first - 1 : last])
        hunks.append(_trimmed(first, before, lines_of(edited(before, group, first))))
    return [hunk for hunk in hunks if hunk[1] or hunk[2]]


def _by_rows(edits: Sequence[Edit]) -> list[list[Edit]]:
    groups: list[list[Edit]] = []
    for edit in sorted(edits, key=lambda edit: edit.span):
        if groups and edit.span.start.row <= groups[-1][-1].span.end.row:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def _trimmed(first: int, before: list[str], after: list[str]) -> tuple[int, list[str], list[str]]:
    while before and after and before[0] == after[0]:
        before, after, first = before[1:], after[1:], first + 1
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return first, before, after


@dataclass(frozen=True, slots=True)
class Context:
    """Where the report goes and what it may draw on.

    `folder` is the absolute path that file names are shown relative to; `rules` the pages by code;
    `repository` the absolute path that the reader of the report counts file names from, where it is not the folder.
    """

    folder: str
    style: Style = PLAIN
    width: int = PIPED_WIDTH
    sources: Sources = field(default_factory=Sources)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    summary: bool = True
    terminal: bool = False  # a person reads along
    seconds: float | None = None  # that the run took, where a person wants to know
    repository: str | None = None

    def path(self, filename: str) -> str:
        """`filename` relative to the folder if it lies in it."""
        return _inside(self.folder, filename)

    def place(self, filename: str, position: Position | None) -> str:
        """`path:row:column` as a terminal may be given it."""
        return ":".join([self.shown(filename), *map(str, position or ())])

    def path_in_repository(self, filename: str) -> str:
        """`filename` relative to the repository if it lies in it, else as `path` gives it."""
        path = filename if self.repository is None else _inside(self.repository, filename)
        return self.path(filename) if path == filename else path

    def shown(self, filename: str) -> str:
        """The path as a terminal may be given it: control codes, which could move the cursor, are escaped."""
        path = self.path(filename)
        return path if path.isprintable() else "".join(map(_harmless, path))


def _inside(folder: str, filename: str) -> str:
    return filename.removeprefix(folder.rstrip(os.sep) + os.sep)


def _harmless(sign: str) -> str:
    return sign.encode("unicode_escape").decode() if category(sign) in ("Cc", "Cf") else sign


def fix_marker(diagnostic: Diagnostic) -> str:
    """`[*]` where `stablelint fix` helps, `[-]` where it does with --unsafe-fixes, else nothing."""
    if diagnostic.fix is None:
        return ""
    marks = {Applicability.SAFE: "[*]", Applicability.UNSAFE: "[-]", Applicability.DISPLAY: ""}
    return marks[diagnostic.fix.applicability]
