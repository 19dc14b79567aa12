"""A recorded run on disk: one line of JSON for each operation, loss and source of chance, in their order.

Places (expression, module path) are written once and named by number afterwards. A trace is read step by step,
so comparing two takes the memory of one step.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from stablelint.diagnostic import Position, Span
from stablelint.runtime.program.location import Location

FORMAT = 2
_BATCH = 512  # lines that are encoded at once
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Statistics(NamedTuple):
    """What is kept of the numbers of a result."""

    bag: int  # a digest of the bits of its elements in any order
    norm: float
    low: float
    high: float
    sample: tuple[float, ...]  # elements at equal distances

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def finite(self) -> bool:
        """Whether every element is."""
        return math.isfinite(self.low) and math.isfinite(self.high)


class Result(NamedTuple):
    """What is kept of one result of an operation."""

    digest: int  # of its bits in order
    dtype: str
    shape: tuple[int, ...]
    statistics: Statistics | None


@dataclass(slots=True)
class Record:
    """An operation that ran: where, in which module and phase, on what numbers, with what results."""

    index: int  # in its trace
    step: int
    phase: str  # forward, backward, optimizer, or input: a tensor that no recorded operation made
    operation: str
    module: str
    place: Location
    traits: frozenset[str]
    numbers: tuple[object, ...]  # Python numbers among the arguments
    operands: frozenset[int]  # indices of the records that made what it reads
    results: tuple[Result, ...]
    # Error against float64 on the same operands, and what rounding allows.
    local: tuple[float, float] | None = None

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What a counterpart in another run shares with it; occurrences follow from the order."""
        return self.phase, self.place.function, self.place.expression, self.module, self.operation

    @property
    def identity(self) -> tuple[object, ...]:
        """What is equal where the two computed the same bits."""
        return self.operation, tuple((one.digest, one.shape) for one in self.results)


@dataclass(slots=True)
class Step:
    """What one step recorded."""

    number: int
    records: list[Record] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


class Source(NamedTuple):
    """A call from outside the computation that gives something new each time: a clock, a generator, a folder."""

    name: str
    place: Location
    value: int  # digest of what it returned
    before: int  # records written when it was called


class Writer:
    """Appends to a trace until `limit` bytes are written; what comes later is counted and left out."""

    def __init__(self, path: Path, limit: int, facts: Mapping[str, object]) -> None:
        self.full = False
        self.count = 0
        self._file = path.open("w", encoding="utf-8", buffering=1 << 16)
        self._left = limit
        self._places: dict[Location, int] = {}
        self._waiting: list[object] = []
        self._put({"format": FORMAT, **facts})

    def operation(self, record: Sequence[object], place: Location) -> None:
        """Write an operation: the fields of `Record` from `step` on, without its place."""
        self._put([self._number(place), *record])
        self.count += 1

    def loss(self, step: int, value: float) -> None:
        """Write the loss of a backward call."""
        self._put({"loss": value, "step": step})

    def source(self, name: str, place: Location, value: int) -> None:
        """Write a call of a source of chance."""
        self._put({"source": name, "place": self._number(place), "value": value})

    def end(self, facts: Mapping[str, object]) -> None:
        """Write the last line and close."""
        if not self._file.closed:
            self._write()
            self._left = max(self._left, 1 << 12)
            self._put({"end": {"full": self.full, **facts}})
            self._write()
            self._file.close()

    def flush(self) -> None:
        """Hand what is written to the system: a command that is killed keeps it."""
        if not self._file.closed:
            self._write()
            self._file.flush()

    def forget(self) -> None:
        """In a forked process: what is not yet written is the parent's to write."""
        self._waiting.clear()
        if not self._file.closed:
            empty = os.open(os.devnull, os.O_WRONLY)
            os.dup2(empty, self._file.fileno())
            os.close(empty)

    def _number(self, place: Location) -> int:
        number = self._places.get(place)
        if number is None:
            number = self._places[place] = len(self._places)
            self._put({"at": number, "place": astuple(place)})
        return number

    def _put(self, line: object) -> None:
        self._waiting.append(line)
        if len(self._waiting) >= _BATCH:
            self._write()

    def _write(self) -> None:
        """Encode what waits, many lines at once, as far as there is room for it."""
        for line in self._waiting:
            if self._left <= 0 or self._file.closed:
                self.full = True
                break
            text = _encode(line)
            self._left -= len(text) + 1
            self._file.write(text + "\n")
        self._waiting.clear()


class Trace:
    """A trace that was written; iterating yields its steps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sources: list[Source] = []
        self.ended: dict[str, Any] | None = None  # None: the process did not come to its end

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the process told of itself before anything else."""
        return dict(next(self._lines(), {}))

    def __iter__(self) -> Iterator[Step]:
        self.sources.clear()
        places: dict[int, Location] = {}
        step: Step | None = None
        count = 0
        for line in self._lines():
            if isinstance(line, list):
                if step is None or step.number != line[1]:
                    if step is not None:
                        yield step
                    step = Step(line[1])
                step.records.append(_record(count, places[line[0]], line))
                count += 1
            elif "at" in line:
                places[line["at"]] = _place(line["place"])
            elif "loss" in line:
                if step is not None:
                    step.losses.append(line["loss"])
            elif "source" in line:
                self.sources.append(Source(line["source"], places[line["place"]], line["value"], count))
            elif "end" in line:
                self.ended = line["end"]
        if step is not None:
            yield step

    def _lines(self) -> Iterator[Any]:
        with self.path.open(encoding="utf-8") as file:
            for text in file:
                try:
                    yield json.loads(text)
                except ValueError:  # the process was ended while it wrote
                    return


def _record(index: int, place: Location, line: Sequence[Any]) -> Record:
    _, step, phase, operation, module, traits, numbers, operands, results, local = line
    return Record(
        index,
        step,
        phase,
        operation=operation,
        module=module,
        place=place,
        traits=frozenset(traits),
        numbers=tuple(numbers),
        operands=frozenset(operands),
        results=tuple(_result(*one) for one in results),
        local=tuple(local) if local else None,
    )


def _result(digest: int, dtype: str, shape: Sequence[int], statistics: Sequence[Any] | None) -> Result:
    measured = Statistics(*statistics) if statistics is not None else None
    return Result(digest, dtype, tuple(shape), measured)


def _place(line: Sequence[Any]) -> Location:
    filename, row, span, text, function = line
    extent = Span(*(Position(*one) for one in span)) if span else None
    return Location(filename, row, extent, text, function)
