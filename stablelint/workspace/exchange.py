"""What the files of a project tell each other: each asks about places, and is passed what the others know of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from stablelint.diagnostic import WHOLE, Passed, Passes, Place
from stablelint.syntax.precision import FACTS, shows, speaks_for
from stablelint.syntax.relevance import brings_torch
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept.answer import Answer, DamagedError, read
from stablelint.workspace.kept.cache import Cache
from stablelint.workspace.kept.codec import Json


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


def holds(answer: Answer | None, received: Passes) -> bool:
    """Whether a file was told what it `received`; the rows of what it names no place of were left out."""
    if answer is None or answer.received.keys() != received.keys():
        return False
    pairs = (
        (one, now) for place in received for one, now in zip_longest(answer.received[place], received[place])
    )
    return all(one and now and one in (now, now._replace(row=0)) for one, now in pairs)


def guesses_of(
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
    known = read_entry(cache.last(file.path), file.path) if cache is not None else None
    return known or Answer(asks=[(WHOLE, fact) for fact in FACTS])


def read_entry(entry: Json | None, path: str) -> Answer | None:
    """The answer of an entry that is there, and not damaged."""
    with suppress(DamagedError):
        return read(entry, path) if entry is not None else None
    return None
