"""What the files of a project that are not checked pass to those that are.

A proof must not depend on which files were named. Of the others only those are parsed whose text names what is asked
about, or a class that inherits it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from stablelint.diagnostic import WHOLE, FileReport, Passed, Passes, Place
from stablelint.syntax.content import digest
from stablelint.syntax.precision import shows, speaks_for
from stablelint.syntax.relevance import concerns
from stablelint.syntax.source import SourceError
from stablelint.workspace import pool
from stablelint.workspace.exchange import is_fact
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept import codec
from stablelint.workspace.kept.cache import Cache
from stablelint.workspace.kept.codec import GLIMPSE, read_passes
from stablelint.workspace.notebooks import python_of

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)
_WORD = re.compile(rb"\w+")


class Callers:
    """The files around those that are checked. What they pass is kept in the cache."""

    def __init__(self, files: Iterable[Candidate], root: str, cache: Cache | None, jobs: int) -> None:
        self._root = root
        self._cache = cache
        self._jobs = jobs
        self._passes: list[Passes] = []
        self._unread: dict[str, tuple[Candidate, bytes]] = {}
        for file in files:
            entry = cache.get(file) if cache is not None else None
            passed = read_passes(entry) if entry is not None else None
            if passed is not None:
                self._passes.append(passed)
            elif data := _text(file.path):
                self._unread[file.path] = file, data

    def passes(self, asked: Collection[Place]) -> Sequence[Passes]:
        """What the files pass that may pass something to one of these places."""
        facts = {name for target, name in asked if target == WHOLE}
        shown = {(WHOLE, fact): first for fact in sorted(facts) if (first := self._showing(fact))}
        names = self._with_subclasses(
            {name.encode() for place in asked if not is_fact(place) for name in _names_of(place)}
        )
        scoped = {name for target, name in asked if target != WHOLE and is_fact((target, name))}
        naming = [
            file
            for file, data in self._unread.values()
            if any(name in data for name in names) or any(shows(data, fact) for fact in scoped)
        ]
        for file, outcome in pool.run(partial(partial, _glimpse, self._root), naming, self._jobs):
            _, data = self._unread.pop(file.path)
            if not isinstance(outcome, FileReport):
                continue
            self._passes.append(outcome.passes)
            if self._cache is not None:
                places = codec.encode_places(outcome.passes)
                entry = {GLIMPSE: True, "passes": places, "consulted": dict(outcome.consulted)}
                self._cache.put(file, digest(data), entry)
        return [*self._passes, shown]

    def _showing(self, fact: str) -> tuple[Passed, ...]:
        """The first of the files that were not read that shows a fact about the project."""
        showing = [path for path, (_, data) in self._unread.items() if shows(data, fact)]
        speaking = sorted(path for path in showing if speaks_for(self._root, path))
        return tuple(Passed(path, 1, "") for path in speaking[:1])

    def _with_subclasses(self, names: set[bytes]) -> set[bytes]:
        """The names, and those of classes that inherit from one of them."""
        classes = [match for _, data in self._unread.values() for match in _CLASS.findall(data)]
        known = set(names)
        while found := {
            name for name, bases in classes if name not in known and known & {*_WORD.findall(bases)}
        }:
            known |= found
        return known


def _text(path: str) -> bytes:
    """The Python of a file that can pass something; nothing of others, and of what cannot be read."""
    try:
        data = python_of(Path(path).read_bytes(), path)
    except (OSError, SourceError):
        return b""
    return data if concerns(data) else b""


def _names_of(place: Place) -> Iterator[str]:
    """What a text names that passes something to a place: a function, a class, or what enters things in a table."""
    target, parameter = place
    path, _, name = target.rpartition(":")
    yield name.partition(".")[0]
    if not parameter:
        with suppress(OSError, SyntaxError, ValueError):
            body = ast.parse(Path(path).read_bytes()).body
            yield from (node.name for node in body if isinstance(node, ast.FunctionDef))


def _glimpse(root: str, path: str) -> FileReport:
    from stablelint.analysis.check import passes_in

    return passes_in(python_of(Path(path).read_bytes(), path), path, Path(root))
