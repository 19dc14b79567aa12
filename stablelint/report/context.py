"""What every format is given besides the result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import category

from stablelint.diagnostic import Applicability, Diagnostic, Position
from stablelint.report.source import Sources
from stablelint.report.style import PIPED_WIDTH, PLAIN, Style

if TYPE_CHECKING:
    from stablelint.catalog import Rule


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
