"""What the files of a project tell each other: each asks about places, and is passed what the others know of them."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from stablelint.diagnostic import (
    CALLED,
    NOTHING,
    OF_SOME_OBJECT,
    WHOLE,
    Passed,
    Passes,
    Place,
    counting,
)
from stablelint.syntax.precision import FACTS, SCOPED, program_of, shows, speaks_for
from stablelint.syntax.relevance import brings_torch
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.kept.cache import Cache
from stablelint.workspace.kept.codec import (
    Answer,
    DamagedError,
    Json,
    encode_asks,
    line_of,
    read,
)

_PRIVATE_CALL = re.compile(rb"\.(_[A-Za-z0-9_]+)\(")
_ITSELF = (b"self", b"cls")


class Exchange:
    """What is passed to each place, by each file that has been examined and by what else passes something."""

    def __init__(self, passes: Mapping[Hashable, Passes]) -> None:
        self._by_place: defaultdict[Place, dict[Hashable, Sequence[Passed]]] = defaultdict(dict)
        self._by_source: dict[Hashable, Passes] = {}
        self._current: dict[Place, Sequence[Passed]] = {}
        self._stale: set[Place] = set()
        for source, passed in passes.items():
            self.put(source, passed)

    def put(self, source: Hashable, passes: Passes) -> None:
        """Takes what a source passes in place of all that it passed before."""
        before = self._by_source.get(source, NOTHING)
        self._by_source[source] = passes
        for place in before.keys() - passes.keys():
            del self._by_place[place][source]
        for place, passed in passes.items():
            self._by_place[place][source] = passed
        self._stale |= before.keys() | passes.keys()

    def current(self) -> Passes:
        """What is passed to each place by now: sorted, and where one or two of it decide, no more than those."""
        if self._stale:
            self._current = dict(self._current)
            for place in self._stale:
                passed = sorted(chain.from_iterable(self._by_place[place].values()))
                self._current[place] = tuple(_deciding(place, passed))
                if not passed:
                    del self._current[place]
            self._stale.clear()
        return self._current


def is_fact(place: Place) -> bool:
    """Whether what is passed to a place are facts, about the project or about a program."""
    return place[0] == WHOLE or place[0].endswith(os.sep)


def _deciding(place: Place, passed: Sequence[Passed]) -> Sequence[Passed]:
    """What decides of all that is passed to a place: the first of what shows a fact, and what `counting` looks for."""
    if place[0].startswith(OF_SOME_OBJECT):
        return sorted({one.path: one for one in reversed(passed)}.values())[:2]
    return passed[:1] if is_fact(place) else passed


def received_by_file(answers: Mapping[str, Answer], passed: Passes) -> dict[str, Passes]:
    """By file, what is passed to the places that it asks about."""
    known: defaultdict[str, dict[str, Place]] = defaultdict(dict)
    for place in passed:
        path, line = line_of(place)
        known[path][line] = place
    received: dict[str, Passes] = {}
    for path, answer in answers.items():
        lines = ((known[of], text.split("\n")) for of, text in answer.asks.items() if of in known)
        places = [told[line] for told, asked in lines for line in told.keys() & asked]
        if places:
            received[path] = {place: passed[place] for place in places}
    return received


def holds(path: str, answer: Answer | None, received: Passes) -> bool:
    """Whether a file was told what it `received`; the rows of what it names no place of were left out."""
    if answer is None or not (answer.received or received):
        return answer is not None
    told, known = _that_counts(answer.received, path), _that_counts(received, path)
    if told.keys() != known.keys():
        return False
    pairs = ((one, now) for place in known for one, now in zip_longest(told[place], known[place]))
    return all(one and now and one in (now, now._replace(row=0)) for one, now in pairs)


def _that_counts(passes: Passes, path: str) -> Passes:
    kept = {place: counting(place, passed, path) for place, passed in passes.items()}
    return {place: passed for place, passed in kept.items() if passed}


def guesses_of(
    files: Sequence[Candidate], answers: Mapping[str, Answer], cache: Cache | None, root: str
) -> dict[str, Answer]:
    """What files may ask and tell: what they did before they were changed, or else facts about the project."""
    guesses = {file.path: _last(file, cache) for file in files}
    known = {place for answer in chain(answers.values(), guesses.values()) for place in answer.passes}
    for path in sorted(guesses) if len(files) > 1 else ():
        with suppress(OSError):
            data = Path(path).read_bytes() if not guesses[path].passes else b""
            asked = {*_facts_for(path)} - known
            told = {p for p in asked if shows(data, p[1]) and speaks_for(root, path) and brings_torch(data)}
            known |= told
            places = [*told, *_called_of_objects(data)]
            if places:
                guesses[path] = replace(guesses[path], passes=dict.fromkeys(places, (Passed(path, 1, ""),)))
    return guesses


def _called_of_objects(data: bytes) -> set[Place]:
    """The private methods that a file seems to call of other objects than its own."""
    calls = _PRIVATE_CALL.finditer(data)
    names = {call[1].decode() for call in calls if not data.endswith(_ITSELF, 0, call.start())}
    return {(OF_SOME_OBJECT + name, CALLED) for name in names}


def _last(file: Candidate, cache: Cache | None) -> Answer:
    """What the cache knows of a file as it was."""
    known = read_entry(cache.last(file.path), file.path) if cache is not None else None
    return known or Answer(asks=encode_asks(_facts_for(file.path)))


def _facts_for(path: str) -> list[Place]:
    """The places of facts that a file may ask for."""
    program = program_of(path)
    return [(program if fact in SCOPED else WHOLE, fact) for fact in FACTS]


def read_entry(entry: Json | None, path: str) -> Answer | None:
    """The answer of an entry that is there, and not damaged."""
    with suppress(DamagedError):
        return read(entry, path) if entry is not None else None
    return None
