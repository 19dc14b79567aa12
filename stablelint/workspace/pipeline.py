"""From paths to a result: discover, look up the cache, examine the rest, select."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.config import Settings, is_project
from stablelint.diagnostic import NOTHING, WHOLE, Diagnostic, Level, Passed, Passes, Place, Problem
from stablelint.syntax.content import NOTEBOOK, digest
from stablelint.syntax.precision import FACTS, shows, speaks_for
from stablelint.syntax.relevance import brings_torch
from stablelint.workspace import pool
from stablelint.workspace.answer import Answer, DamagedError, read
from stablelint.workspace.cache import Cache, context_digest
from stablelint.workspace.codec import Json
from stablelint.workspace.discover import Candidate, discover
from stablelint.workspace.examine import NOTHING_RECEIVED, Scope, prepare, setup, trivial_entry
from stablelint.workspace.notebooks import problem_in_cell
from stablelint.workspace.runs.observed import are_observed, informed
from stablelint.workspace.selection import Selection
from stablelint.workspace.suppress import UNUSED_CODE

if TYPE_CHECKING:
    from stablelint.analysis.check import Focus
    from stablelint.catalog import Catalog
    from stablelint.workspace.callers import Callers

CACHE_FOLDER = ".stablelint_cache"
_WORTH_SHARING_BYTES = 4_000_000  # from here on even the files without torch are left to several processes
_ROUNDS = 4  # what a file asks about others can grow with what it is told
Progress = Callable[[int, int], None]  # files done, files in all


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is to do beyond the project's settings."""

    settings: Settings
    selection: Selection
    discharged: bool = False
    use_cache: bool = True
    jobs: int | None = None
    progress: Progress | None = None

    @property
    def workers(self) -> int:
        """How many processes it may use."""
        return self.jobs or self.settings.jobs or pool.default_jobs()

    @property
    def scope(self) -> Scope:
        """What decides the entries."""
        settings = self.settings
        rules = tuple(os.fspath(folder) for folder in settings.rules)
        root = os.path.abspath(settings.root)
        observed = are_observed(settings.root)
        return Scope(root, rules, settings.level, self.discharged, observed, settings.min_confidence)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a run found: selected findings in order of file and place, and the totals."""

    diagnostics: tuple[Diagnostic, ...] = ()
    discharged: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0  # that were read
    lines: int = 0
    silenced: int = 0
    baselined: int = 0
    unsure: int = 0  # left out for their confidence
    discharge_counts: Mapping[str, int] = field(default_factory=dict)
    assumed: int = 0  # obligations that hold as long as settings keep their values
    sources: Mapping[str, bytes] = field(default_factory=dict)  # of files that are not on disk
    level: Level = Level.LIKELY  # from which on findings are shown in full
    received: Mapping[str, Passes] = field(default_factory=dict)  # by file, what other files pass to it

    def at(self, level: Level) -> tuple[Diagnostic, ...]:
        """The findings of a level and above, in order of file and place."""
        if level is Level.POSSIBLE:
            return self.diagnostics
        return tuple(item for item in self.diagnostics if item.level is Level.LIKELY)

    @property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The findings that are shown in full."""
        return self.at(self.level)

    @property
    def rest(self) -> tuple[Diagnostic, ...]:
        """The others, most likely first."""
        rest = (item for item in self.diagnostics if item.level is not Level.LIKELY)
        if self.level is Level.POSSIBLE:
            return ()
        return tuple(sorted(rest, key=lambda item: (-item.confidence, item.sort_key)))


def check(paths: Sequence[str], request: Request, catalog: Catalog) -> CheckResult:
    """Checks the files under `paths`. Bad input becomes a problem of the result; the rest is answered."""
    discovery = discover(paths, request.settings)
    cache = _open_cache(request, catalog)
    answers, missing = _split(discovery.files, partial(_recall, cache=cache))
    if sum(file.size for file in missing) < _WORTH_SHARING_BYTES:
        trivial, missing = _split(missing, partial(_trivial, cache=cache))
        answers |= trivial
    callers = partial(_callers, paths, request, cache)
    guesses = _guesses(missing, answers, cache, request.scope.root)
    try:
        received = _examine_all(discovery.files, answers, guesses, request, cache, callers)
    finally:
        if cache is not None:
            cache.save()
    return _collect(answers, request, discovery.problems, received=received)


def _examine_all(
    files: Sequence[Candidate],
    answers: dict[str, Answer],
    guesses: Mapping[str, Answer],
    request: Request,
    cache: Cache | None,
    around: Callable[[Container[str]], Callers | None],
) -> Mapping[str, Passes]:
    """Answers what is missing, and again as long as the files tell each other more; returns what they are told.

    The `guesses` save rounds: an answer stands once its file was told what all say in the end, whatever came before.
    """
    callers: Callers | None = None
    with pool.Workers(partial(setup, request.scope), request.workers, prepare) as workers:
        for rounds_left in range(_ROUNDS, -1, -1):
            known = {**guesses, **answers}
            asked = {place for answer in known.values() for place in answer.asks}
            callers = callers or (around(known) if asked else None)
            received = received_by_file(known, callers.passes(asked) if callers is not None else ())
            missing = [
                file for file in files if not _holds(answers.get(file.path), received.get(file.path, NOTHING))
            ]
            if not missing or not rounds_left:
                break
            for file, outcome in _counted(workers.run(missing, received), len(missing), request, len(files)):
                if isinstance(outcome, Problem):
                    answers[file.path] = Answer(problems=(outcome,))
                    continue
                content, entry = outcome
                answers[file.path] = read(entry, file.path)
                if cache is not None and "problems" not in entry:
                    cache.put(file, content, entry)
    return received


def _holds(answer: Answer | None, received: Passes) -> bool:
    """Whether a file was told what it `received`; the rows of what it names no place of were left out."""
    if answer is None or answer.received.keys() != received.keys():
        return False
    pairs = (
        (one, now) for place in received for one, now in zip_longest(answer.received[place], received[place])
    )
    return all(one and now and one in (now, now._replace(row=0)) for one, now in pairs)


def _guesses(
    files: Sequence[Candidate], answers: Mapping[str, Answer], cache: Cache | None, root: str
) -> dict[str, Answer]:
    """What files may ask and tell: what they did before they were changed, or else facts about the project."""
    guesses = {file.path: _last(file, cache) for file in files}
    known = {place for answer in chain(answers.values(), guesses.values()) for place in answer.passes}
    wanted = {fact for fact in FACTS if (WHOLE, fact) not in known}
    for path in sorted(guesses) if len(files) > 1 else ():
        if wanted and not guesses[path].passes and speaks_for(root, path):
            with suppress(OSError):
                data = Path(path).read_bytes()
                shown = [fact for fact in wanted if brings_torch(data) and shows(data, fact)]
                guesses[path] = replace(
                    guesses[path], passes={(WHOLE, f): (Passed(path, 1, ""),) for f in shown}
                )
                wanted.difference_update(shown)
    return guesses


def _last(file: Candidate, cache: Cache | None) -> Answer:
    """What the cache knows of a file as it was."""
    known = _read(cache.last(file.path), file.path) if cache is not None else None
    return known or Answer(asks=[(WHOLE, fact) for fact in FACTS])


def _callers(
    paths: Sequence[str], request: Request, cache: Cache | None, checked: Container[str]
) -> Callers | None:
    """The other files of the project; None where all are checked, or no project begins above those that are."""
    from stablelint.workspace.callers import Callers

    settings, root = request.settings, request.scope.root
    inside = os.path.join(root, "")
    whole = any(inside.startswith(os.path.join(os.path.abspath(path), "")) for path in paths)
    if whole or (settings.source is None and not is_project(settings.root)):
        return None
    others = (file for file in discover([root], settings).files if file.path not in checked)
    return Callers(others, root, cache, request.workers)


def received_by_file(answers: Mapping[str, Answer], around: Iterable[Passes] = ()) -> dict[str, Passes]:
    """By file, what the others, and those `around` them, pass to the places that it asks about."""
    passed: dict[Place, list[Passed]] = {}
    for passes in chain((answer.passes for answer in answers.values()), around):
        for place, several in passes.items():
            passed.setdefault(place, []).extend(several)
    asked = {place for answer in answers.values() for place in answer.asks}
    answered = {place: _sorted(place, passed[place]) for place in asked & passed.keys()}
    received = {
        path: {place: answered[place] for place in a.asks if place in answered} for path, a in answers.items()
    }
    return {path: known for path, known in received.items() if known}


def _sorted(place: Place, passed: Sequence[Passed]) -> tuple[Passed, ...]:
    """What is passed to a place; of what shows a fact about the project, the first."""
    return (min(passed),) if place[0] == WHOLE else tuple(sorted(passed))


def check_text(
    data: bytes,
    filename: str,
    request: Request,
    catalog: Catalog,
    *,
    fixes: bool = True,
    received: Passes = NOTHING,
    focus: Focus | None = None,
) -> CheckResult:
    """Checks text that need not be on disk, as if it stood in the file `filename`; on demand without the fixes.

    `received` is what other files pass to it, `focus` what somebody waits for who types.
    """
    from stablelint.workspace.examine import Examiner

    path = os.path.abspath(filename)
    entry = trivial_entry(data, path)
    if entry is None:
        examiner = Examiner(request.scope, catalog, {path: received}, focus=focus)
        entry = examiner.examine(data, path, fixes)
    return _collect({path: read(entry, path)}, request, (), {path: data})


def _open_cache(request: Request, catalog: Catalog) -> Cache | None:
    if not request.use_cache:
        return None
    scope = request.scope
    folder = request.settings.cache_dir or os.path.join(scope.root, CACHE_FOLDER)
    return Cache(os.fspath(folder), context_digest(catalog.digest, *scope.parts()), scope.root)


def _split(
    files: Iterable[Candidate], answer_of: Callable[[Candidate], Answer | None]
) -> tuple[dict[str, Answer], list[Candidate]]:
    """The answers that can be had by path, and the files for which there is none."""
    answers: dict[str, Answer] = {}
    missing: list[Candidate] = []
    for file in files:
        answer = answer_of(file)
        if answer is None:
            missing.append(file)
        else:
            answers[file.path] = answer
    return answers, missing


def _recall(file: Candidate, cache: Cache | None) -> Answer | None:
    """What the cache knows of a file."""
    return _read(cache.get(file), file.path) if cache is not None else None


def _read(entry: Json | None, path: str) -> Answer | None:
    """The answer of an entry that is there, and not damaged."""
    with suppress(DamagedError):
        return read(entry, path) if entry is not None else None
    return None


def _trivial(file: Candidate, cache: Cache | None) -> Answer | None:
    """The answer for a file that no examiner is needed for."""
    if file.path.endswith(NOTEBOOK):
        return None
    try:
        with open(file.path, "rb") as stream:
            data = stream.read()
    except OSError:
        return None  # the examiner meets the same error and reports it
    entry = trivial_entry(data, file.path)
    if entry is None:
        return None
    if cache is not None and "problems" not in entry:
        cache.put(file, digest(data), entry)
    return read(entry, file.path)


def _counted(
    outcomes: Iterable[tuple[Candidate, Json]], missing: int, request: Request, total: int
) -> Iterable[tuple[Candidate, Json]]:
    """The outcomes for the files that are `missing` of all, each told to whoever follows the progress."""
    for done, outcome in enumerate(outcomes, total - missing + 1):
        if request.progress is not None:
            request.progress(done, total)
        yield outcome


def _collect(
    answers: Mapping[str, Answer],
    request: Request,
    problems: Sequence[Problem],
    sources: Mapping[str, bytes] | None = None,
    received: Mapping[str, Passes] = NOTHING_RECEIVED,
) -> CheckResult:
    findings: list[Diagnostic] = []
    discharged: list[Diagnostic] = []
    counts: dict[str, int] = {}
    selection = request.selection
    for path, answer in answers.items():
        findings += [item for item in answer.findings if selection.enabled(item.code, path)]
        findings += [item for item in answer.unused if _counts_as_unused(item, selection)]
        discharged += [item for item in answer.discharged if selection.enabled(item.code, path)]
        for guard, number in answer.counts.items():
            counts[guard] = counts.get(guard, 0) + number
    least = request.settings.min_confidence
    informed_of = list(informed(findings, request.settings.root, sources))
    findings = [item for item in informed_of if item.confidence >= least]
    return CheckResult(
        diagnostics=tuple(sorted(findings, key=lambda item: item.sort_key)),
        discharged=tuple(sorted(discharged, key=lambda item: item.sort_key)),
        problems=(
            *problems,
            *(problem_in_cell(p) for path in sorted(answers) for p in answers[path].problems),
        ),
        files=sum(not answer.problems for answer in answers.values()),
        lines=sum(answer.lines for answer in answers.values()),
        silenced=sum(answer.silenced for answer in answers.values()),
        unsure=len(informed_of) - len(findings),
        discharge_counts=counts,
        assumed=sum(answer.assumed for answer in answers.values()),
        sources=sources or {},
        received=received,
        level=request.settings.level,
    )


def _counts_as_unused(item: Diagnostic, selection: Selection) -> bool:
    """A comment for a rule that is switched off may be needed when it is on again."""
    if not selection.enabled(UNUSED_CODE, item.filename):
        return False
    return not selection.disabled(item.expression, item.filename)
