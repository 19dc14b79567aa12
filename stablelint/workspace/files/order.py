"""The order in which many files are examined: what a file passes to another is known best before the other's turn."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from stablelint.workspace.files.discover import Candidate

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\.*)([\w.]*)", re.MULTILINE)
_PACKAGE = "__init__.py"


def importers_first(files: Sequence[Candidate], among: Iterable[Candidate]) -> list[Candidate]:
    """The files, each after those that import it, as far as none of them imports itself; big ones first among equals.

    They may do so through packages that are `among` the other files of the project.
    """
    known = {file.path for file in files}.union(f.path for f in among if f.path.endswith(_PACKAGE))
    imported: dict[str, list[str]] = {}
    reached = [file.path for file in files]
    for path in reached:  # grows while it is walked
        if path not in imported:
            imported[path] = [*_imported_by(path, known)]
            reached += imported[path]
    inner = frozenset(chain.from_iterable(imported.values()))
    row = _topological(sorted(imported, key=inner.__contains__), imported)
    place = {path: index for index, path in enumerate(row)}
    level = dict.fromkeys(row, 0)
    for path in row:
        for other in imported[path]:
            if place[other] > place[path]:
                level[other] = max(level[other], level[path] + 1)
    return sorted(files, key=lambda file: (level[file.path], -file.size, file.path))


def _topological(starts: Iterable[str], imported: Mapping[str, Sequence[str]]) -> list[str]:
    """The files in reverse of the order in which a search in depth leaves them: before what they import."""
    left: list[str] = []
    seen: set[str] = set()
    for start in starts:
        pending = [(start, False)]
        while pending:
            path, done = pending.pop()
            if done:
                left.append(path)
            elif path not in seen:
                seen.add(path)
                pending += [(path, True), *((other, False) for other in imported[path])]
    return left[::-1]


def _imported_by(path: str, known: Container[str]) -> Iterator[str]:
    """The known files that the import statements of a file name, seen from its folder or one above it."""
    data = b""
    with suppress(OSError), open(path, "rb") as file:
        data = file.read()
    above = [*_folders_above(path)]
    for dots, dotted in sorted(set(_IMPORT.findall(data))):
        parts = dotted.decode("utf-8", "replace").split(".")
        places = above[len(dots) - 1 : len(dots)] if dots else above
        found = (_file_at(os.path.join(folder, *parts), known) for folder in places)
        yield from (one for one in [next(filter(None, found), path)] if one != path)


def _folders_above(path: str) -> Iterator[str]:
    """The folder of a file, and those around it."""
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _file_at(place: str, known: Container[str]) -> str | None:
    """The file of a module or package that stands at a place."""
    return next((p for p in (f"{place}.py", os.path.join(place, _PACKAGE)) if p in known), None)
