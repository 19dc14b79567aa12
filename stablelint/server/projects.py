"""The projects that the open files belong to, each read again when its settings or its rules change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.config import ConfigError, Settings, load
from stablelint.diagnostic import NOTHING, Passes, Problem, Span
from stablelint.records import dataclass, field, replace
from stablelint.workspace.files.discover import discover
from stablelint.workspace.fixing import FileFix, Wanted, fix_text
from stablelint.workspace.pipeline import check, check_text
from stablelint.workspace.pool import failure
from stablelint.workspace.result import CheckResult
from stablelint.workspace.session import Request, Session, session_of

if TYPE_CHECKING:
    from stablelint.analysis.ranges_at import Ranges
    from stablelint.workspace.runs.seen import Seen

PROMPT = 0.15  # seconds: what is answered by then is answered at once
Stamp = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Project:
    """What decides on the files of a folder. `problems` keep it from being what its files ask for."""

    session: Session
    problems: tuple[Problem, ...]
    stamp: Stamp
    _included: dict[str, bool] = field(default_factory=dict)
    # What others passed to a file when it was last on disk.
    _received: dict[str, Passes] = field(default_factory=dict)
    _took: dict[str, float] = field(default_factory=dict)  # seconds of the processor for a whole text

    @property
    def request(self) -> Request:
        """A run over one file."""
        return Request(self.session.settings, self.session.selection, jobs=1)

    def includes(self, path: str) -> bool:
        """Whether the settings leave the file in; one that is not on disk yet is included."""
        if path not in self._included:
            forced = replace(self.session.settings, force_exclude=True)
            named = os.path.exists(path) and not path.endswith(".ipynb")
            self._included[path] = not named or bool(discover([path], forced).files)
        return self._included[path]

    def check(
        self, path: str, data: bytes, abandoned: Callable[[], bool] = bool, rows: range | None = None
    ) -> CheckResult:
        """What a check of the text finds, perhaps without fixes; the cache answers where the text lies on disk.

        Where `rows` are those of a function, its findings alone are wanted. Raises AbandonedError once `abandoned`.
        """
        from stablelint.analysis.check import AbandonedError, Focus

        if not self.includes(path):
            return CheckResult()
        if not path.endswith(".ipynb") and on_disk(path) == data:
            result = check([path], self.request, self.session.catalog)
            self._received.update(result.received)
            return result
        received = self._received.get(path, NOTHING)
        focus, begun = Focus(rows, abandoned), time.thread_time()
        try:
            result = check_text(
                data, path, self.request, self.session.catalog, fixes=False, received=received, focus=focus
            )
        except AbandonedError:
            raise
        except (
            Exception
        ) as error:  # the boundary: what fails for this text is told, and the next one is looked at
            return CheckResult(problems=(failure(error, path),))
        if rows is None:
            self._took[path] = time.thread_time() - begun
        return result

    def is_slow(self, path: str) -> bool:
        """Whether a person would notice how long a check of what is typed takes; so while that is not known."""
        return self._took.get(path, PROMPT) >= PROMPT

    def fixable(self, path: str, data: bytes) -> CheckResult:
        """What a check of the text finds, with fixes."""
        received = self._received.get(path, NOTHING)
        return check_text(data, path, self.request, self.session.catalog, received=received)

    def fixed(self, path: str, data: bytes) -> FileFix | Problem:
        """The text with every safe fix."""
        received = self._received.get(path, NOTHING)
        return fix_text(data, path, self.request, Wanted(self.session.selection), received)

    def ranges(self, path: str, data: bytes, rows: range) -> tuple[Ranges, Mapping[Span, Seen]]:
        """The ranges of the expressions around some rows of the text, and where runs have seen some of them."""
        from stablelint.analysis.ranges_at import ranges_at
        from stablelint.workspace.runs.seen import seen_in

        root = Path(self.session.settings.root)
        return ranges_at(data, path, root, rows), seen_in(data, path, root)


class Projects:
    """Projects by folder. Settings that cannot be used leave the last that could in force."""

    def __init__(self) -> None:
        self._by_folder: dict[str, Project] = {}

    def of(self, path: str) -> Project:
        """The project of a file."""
        folder = os.path.dirname(path)
        known = self._by_folder.get(folder)
        if known is None or known.stamp != _stamp(folder, known.session.settings):
            known = self._by_folder[folder] = self._open(folder, known)
        return known

    def _open(self, folder: str, before: Project | None) -> Project:
        try:
            session = session_of(load(Path(folder)))
            problems: Sequence[Problem] = session.problems
        except ConfigError as error:
            session = before.session if before is not None else session_of(Settings(Path(folder)))
            problems = error.problems
        return Project(session, tuple(problems), _stamp(folder, session.settings))


def _stamp(folder: str, settings: Settings) -> Stamp:
    """What tells a change of the settings that may hold for a folder, or of the rule pages that they name."""
    return tuple(_stamps(folder, settings))


def _stamps(folder: str, settings: Settings) -> Iterator[tuple[str, int]]:
    places = [Path(folder), *Path(folder).parents]
    pages = (page for rules in settings.rules for page in (rules, *rules.rglob("*.md")))
    for path in (*(place / "pyproject.toml" for place in places), *pages):
        try:
            yield str(path), path.stat().st_mtime_ns
        except OSError:
            continue


def on_disk(path: str) -> bytes | None:
    """What a file holds; None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
