"""One file from its bytes to an entry: analysis, proposed rewrites, suppressions.

An entry is a JSON object that leaves out what is empty: `findings`, `discharged`, `unused` (encoded
diagnostics), `problems`, `lines`, `silenced`, `counts`, `consulted`. Rules that are switched off are in it:
changing the selection does not change the entry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from stablelint.diagnostic import UNEDITED, Diagnostic, FileReport, Level, Passes, Problem, Texts
from stablelint.records import dataclass
from stablelint.syntax.content import digest
from stablelint.syntax.relevance import concerns
from stablelint.workspace.kept import codec
from stablelint.workspace.kept.codec import Json
from stablelint.workspace.notebooks import python_at, python_of
from stablelint.workspace.runs.evidence import informed
from stablelint.workspace.suppress import mentions, suppress

if TYPE_CHECKING:
    from stablelint.analysis.check import Focus
    from stablelint.catalog import Catalog
    from stablelint.codemod.text.source import Read


NOTHING_RECEIVED: Mapping[str, Passes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Scope:
    """What decides the content of an entry besides the file, all of it part of the cache's context, and of `findings`."""

    root: str
    rules: tuple[str, ...] = ()
    level: Level = Level.LIKELY
    discharged: bool = False
    observed: bool = False  # whether runs have seen anything, which may raise any finding
    min_confidence: float = 0.0  # of what `findings` answers; no entry depends on it

    def parts(self) -> tuple[str, ...]:
        """The scope as strings, for a digest."""
        return (self.root, self.level.value, str(self.discharged), str(self.observed))


def trivial_entry(data: bytes, path: str) -> Json | None:
    """The entry of a file that needs no analysis, or None if it does."""
    if concerns(data) or mentions(data):
        return None
    if not data:
        return {}
    report = _unanalysed(data, path)
    problems = [codec.encode_problem(problem) for problem in report.problems]
    return {"lines": report.lines, **({"problems": problems} if problems else {})}


def _unanalysed(data: bytes, path: str) -> FileReport:
    """What is said of a file in which nothing can be found: whether it is Python at all."""
    from stablelint.syntax.source import syntax_problem

    problem = syntax_problem(data, path)
    return FileReport(path, problems=(problem,) if problem else (), lines=data.count(b"\n"))


class Findings(NamedTuple):
    """What a check finds in a text; those that it shows have their fixes and proposals."""

    shown: list[Diagnostic]
    unshown: list[Diagnostic]
    idle: list[Diagnostic]


class Examiner:
    """Turns paths into entries. Picklable as its scope; the catalogue is loaded where it is used."""

    def __init__(
        self,
        scope: Scope,
        catalog: Catalog,
        received: Mapping[str, Passes] = NOTHING_RECEIVED,
        edited: Texts = UNEDITED,
        focus: Focus | None = None,
    ) -> None:
        from stablelint.analysis.check import AnalysisOptions

        self._scope = scope
        self.catalog = catalog
        self._received = received
        full = Level.POSSIBLE if scope.observed else scope.level
        self._options = AnalysisOptions(Path(scope.root), scope.discharged, full, edited, focus)

    def __call__(self, path: str, received: Passes | None = None) -> tuple[str, Json]:
        """The digest of the file's content, and its entry; `received` holds what other files pass, to it or any."""
        from stablelint.syntax.source import SourceError

        self._received = {path: received or {}}
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            return "", {
                "problems": [codec.encode_problem(Problem(f"cannot read this file: {error.strerror}"))]
            }
        try:
            source = python_of(data, path)
        except SourceError as error:
            return digest(data), {"problems": [codec.encode_problem(error.problem)]}
        entry = trivial_entry(source, path)
        return digest(data), self.examine(source, path) if entry is None else entry

    def examine(self, data: bytes, path: str, fixes: bool = True) -> Json:
        """The entry of a file that holds `data`; without `fixes`, its findings alone, which take half the time."""
        report = self.report(data, path) if concerns(data) else _unanalysed(data, path)
        outcome = suppress(data, path, report.diagnostics)
        wanted = self._fixed(data, list(outcome.kept), python_at) if fixes else list(outcome.kept)
        proved = report.discharged if self._scope.discharged else ()
        entry = {
            "findings": [codec.encode(item) for item in wanted],
            "discharged": [codec.encode(item) for item in proved],
            "unused": [codec.encode(item) for item in outcome.unused],
            "problems": [codec.encode_problem(problem) for problem in report.problems],
            "lines": report.lines,
            "silenced": len(outcome.silenced),
            "counts": dict(report.discharge_counts),
            "assumed": report.assumed,
            "consulted": {os.path.join(self._scope.root, p): text for p, text in report.consulted.items()},
            "passes": codec.encode_places(report.passes),
            "asks": codec.encode_asks(report.asks),
            "received": codec.encode_places(_rested_on(self._received.get(path, {}), report)),
        }
        return {key: value for key, value in entry.items() if value}

    def report(self, data: bytes, path: str) -> FileReport:
        """What the analysis says of the file, at both levels and for all rules."""
        from stablelint.analysis.check import check_source

        return check_source(data, path, self.catalog, self._options, self._received.get(path, {}))

    def findings(self, data: bytes, path: str) -> Findings:
        """What no comment silences, by whether a check shows it in full, and the comments that are idle."""
        report = self.report(data, path)
        outcome = suppress(data, path, report.diagnostics)
        seen = list(informed(outcome.kept, Path(self._scope.root), {path: data}))
        shown = self._fixed(data, [item for item in seen if self._is_shown(item)])
        return Findings(shown, [item for item in seen if not self._is_shown(item)], list(outcome.unused))

    def _is_shown(self, item: Diagnostic) -> bool:
        levels = (Level.LIKELY, self._scope.level)
        return item.level in levels and item.confidence >= self._scope.min_confidence

    def _fixed(
        self, data: bytes, diagnostics: list[Diagnostic], read: Read | None = None
    ) -> list[Diagnostic]:
        if not any(item.proposals for item in diagnostics):
            return diagnostics
        from stablelint.codemod.propose import propose_all

        return propose_all(data, diagnostics, read)


def setup(
    scope: Scope, received: Mapping[str, Passes] = NOTHING_RECEIVED, edited: Texts = UNEDITED
) -> Examiner:
    """The examiner of a worker process; `received` holds, by file, what other files pass to it, `edited` their new text."""
    from stablelint.catalog import load_catalog

    catalog = load_catalog(extra_folders=tuple(Path(folder) for folder in scope.rules))
    return Examiner(scope, catalog, received, edited)


def prepare(examiner: Examiner) -> None:
    """Loads what the analysis and the rewriting of files need."""
    from importlib import import_module

    from stablelint.analysis.check import compile_patterns

    import_module("stablelint.codemod.rewrite")
    compile_patterns(examiner.catalog)


def _rested_on(received: Passes, report: FileReport) -> Passes:
    """What a report rests on of what was received: what it asked for, with the rows in files of which it names places."""
    named = {path for item in report.diagnostics for path in item.elsewhere}
    return {
        place: [one if one.path in named else one._replace(row=0) for one in received[place]]
        for place in received.keys() & report.asks
    }
