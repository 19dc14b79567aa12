"""From paths to a result: discover, look up the cache, examine the rest, select."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.config import is_project
from stablelint.diagnostic import NOTHING, Passes, Problem
from stablelint.syntax.content import NOTEBOOK, digest
from stablelint.workspace import pool
from stablelint.workspace.examine import Examiner, prepare, setup, trivial_entry
from stablelint.workspace.exchange import Exchange, guesses_of, holds, read_entry, received_by_file
from stablelint.workspace.files.discover import Candidate, discover
from stablelint.workspace.kept.cache import Cache
from stablelint.workspace.kept.codec import Answer, Json, decode_asks, read
from stablelint.workspace.result import CheckResult, collect
from stablelint.workspace.session import Request

if TYPE_CHECKING:
    from stablelint.analysis.check import Focus
    from stablelint.catalog import Catalog
    from stablelint.workspace.callers import Callers

_WORTH_SHARING_BYTES = 4_000_000  # from here on even the files without torch are left to several processes
_ROUNDS = 4  # what a file asks about others can grow with what it is told


def check(paths: Sequence[str], request: Request, catalog: Catalog) -> CheckResult:
    """Checks the files under `paths`. Bad input becomes a problem of the result; the rest is answered."""
    discovery = discover(paths, request.settings)
    cache = request.open_cache(catalog.digest)
    answers, missing = _split(
        discovery.files, lambda file: read_entry(cache.get(file), file.path) if cache is not None else None
    )
    if sum(file.size for file in missing) < _WORTH_SHARING_BYTES:
        trivial, missing = _split(missing, partial(_trivial, cache=cache))
        answers |= trivial
    callers = partial(_callers, paths, request, cache)
    guesses = guesses_of(missing, answers, cache, request.scope.root)
    try:
        received = _examine_all(discovery.files, answers, guesses, request, cache, callers)
    finally:
        if cache is not None:
            cache.save()
    return collect(answers, request, discovery.problems, received=received)


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
            callers = callers or (around(known) if any(answer.asks for answer in known.values()) else None)
            asked = (
                {p for one in known.values() for p in decode_asks(one.asks)} if callers is not None else ()
            )
            beyond = enumerate(callers.passes(asked) if callers is not None else ())
            exchange = Exchange({**{path: answer.passes for path, answer in known.items()}, **dict(beyond)})
            received = received_by_file(known, exchange.current())
            missing = [
                file
                for file in files
                if not holds(file.path, answers.get(file.path), received.get(file.path, NOTHING))
            ]
            if not missing or not rounds_left:
                break
            for file, outcome in _counted(
                workers.run(missing, exchange.current), len(missing), request, len(files)
            ):
                if isinstance(outcome, Problem):
                    answers[file.path] = Answer(problems=(outcome,))
                    continue
                content, entry = outcome
                answers[file.path] = read(entry, file.path)
                exchange.put(file.path, answers[file.path].passes)
                if cache is not None and "problems" not in entry:
                    cache.put(file, content, entry)
    return received


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
    path = os.path.abspath(filename)
    entry = trivial_entry(data, path)
    if entry is None:
        examiner = Examiner(request.scope, catalog, {path: received}, focus=focus)
        entry = examiner.examine(data, path, fixes)
    return collect({path: read(entry, path)}, request, (), {path: data})


def _split(
    files: Sequence[Candidate], answer_of: Callable[[Candidate], Answer | None]
) -> tuple[dict[str, Answer], list[Candidate]]:
    """The answers that can be had by path, and the files for which there is none."""
    answers = {file.path: answer for file in files if (answer := answer_of(file)) is not None}
    return answers, [file for file in files if file.path not in answers]


def _trivial(file: Candidate, cache: Cache | None) -> Answer | None:
    """The answer for a file that no examiner is needed for."""
    if file.path.endswith(NOTEBOOK):
        return None
    try:
        data = Path(file.path).read_bytes()
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
