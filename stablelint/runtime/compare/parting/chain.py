"""Two runs that need not agree in every bit: where rounding no longer explains the difference, and how it grows.

Every operation was replayed in double precision on the operands that it had in its own run. One that is further
off than rounding explains is at fault; where none is, the error of the operands has grown, and the operations
that amplify it most are told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from stablelint.numerics.formats import FORMATS
from stablelint.runtime.compare.outcome import Link
from stablelint.runtime.compare.parting.align import Kind, Parting, kind_of, paired
from stablelint.runtime.compare.recording.trace import Record, Result, Statistics, Step, Trace

_BEYOND = 4096.0  # roundings: a path that changes its results by more is another computation
_LONGEST = 4000
_CASTS = frozenset({"to_copy", "copy", "clone"})


@dataclass(slots=True)
class Followed:
    """What a walk over two traces found: the first difference that rounding does not explain, and every error."""

    parting: Parting | None = None
    pairs: int = 0
    links: list[Link] = field(default_factory=list)


def follow(first: Trace, second: Trace) -> Followed:
    """Walk over two traces that were judged; `parting.kind` says why the walk ended, if it did."""
    walk = _Walk()
    for one, other in zip_longest(first, second):
        sides = one.records if one else [], other.records if other else []
        for left, right in paired(*sides):
            if len(left) == len(right) == 1 and left[0].key == right[0].key:
                walk.found.pairs += 1
                walk.found.parting = walk.look(left[0], right[0])
                if walk.found.parting is not None:
                    return walk.found
            else:
                walk.pass_by((one or other or Step(0)).number, left, right)
    return walk.found


class _Walk:
    """Relative errors by the first run's records, and what ran on one side only."""

    def __init__(self) -> None:
        self.found = Followed()
        self._errors: dict[int, float] = {}
        self._stray_operands: dict[int, frozenset[int]] = {}  # of records that the first run alone has
        self._strays: dict[int, Parting] = {}  # records that the second run alone has
        self._draws: Parting | None = None  # the first stretch that drew numbers and ran in one run only

    def pass_by(self, step: int, left: Sequence[Record], right: Sequence[Record]) -> None:
        """A stretch that has no counterpart: where it only casts, the errors of its operands are handed on."""
        self._stray_operands.update({record.index: record.operands for record in left})
        computed = [[one for one in side if one.operation not in _CASTS] for side in (left, right)]
        if not any(computed):
            return
        heads = [side[0] if side else None for side in computed]
        parting = Parting(Kind.PATH, step, heads[0], heads[1], tuple(computed[0]), tuple(computed[1]))
        fed = (self._strays[index] for one in computed[1] for index in one.operands if index in self._strays)
        parting = next(fed, parting)  # what an earlier stretch feeds is that one's consequence
        self._strays.update({one.index: parting for one in computed[1]})
        if any("draw" in one.traits for side in computed for one in side):
            self._draws = self._draws or parting

    def look(self, one: Record, other: Record) -> Parting | None:
        """One pair: its error is noted; returned where something else than rounding made it."""
        if one.identity == other.identity:
            return None
        error = max((_error(result.shape, a, b) for result, a, b in _statistics(one, other)), default=0.0)
        before = self._error_of_operands(one)
        formats = (FORMATS.get(result.dtype) for result in (*one.results, *other.results))
        unit = max((fmt.eps for fmt in formats if fmt is not None), default=0.0)
        if error:
            self._errors[one.index] = error
            if len(self.found.links) < _LONGEST:
                growth = error / max(before, unit) if unit else 0.0
                place = one.place.expression, one.place.filename, one.place.row
                self.found.links.append(Link(one.index, one.step, one.phase, *place, error, growth))
        kind = _kind(one, other, error, before)
        if kind is Kind.DRAW and self._draws is not None:
            return self._draws
        if kind is not None:
            return Parting(kind, one.step, one, other)
        fed = (self._strays[index] for index in other.operands if index in self._strays)
        return next(fed, None) if error > _BEYOND * unit else None

    def _error_of_operands(self, record: Record) -> float:
        """The largest error of what an operation reads, through what ran on one side only."""
        waiting, seen = set(record.operands), set[int]()
        while waiting:
            seen |= waiting
            waiting = {each for one in waiting for each in self._stray_operands.get(one, ())} - seen
        return max((self._errors.get(index, 0.0) for index in seen), default=0.0)


def _kind(one: Record, other: Record, error: float, before: float) -> Kind | None:
    """Why a pair differs, where rounding is not the reason."""
    if not error and one.phase != "input":
        return None
    if "draw" in one.traits or one.phase == "input":
        return kind_of(one, other) if not before and not _rounded(one, other) else None
    if not before and one.numbers != other.numbers:
        return Kind.NUMBER
    if [result.shape for result in one.results] != [result.shape for result in other.results]:
        return Kind.SHAPE
    if any(a.finite != b.finite for _, a, b in _statistics(one, other)):
        return Kind.NONFINITE
    if any(_vanishes(*pair) for pair in ((one, other), (other, one))):
        return Kind.UNDERFLOW
    if any(side.local is not None and side.local[0] > side.local[1] for side in (one, other)):
        return Kind.ROUNDING
    return None


def _vanishes(one: Record, other: Record) -> bool:
    """Whether a result is 0 in `one` alone, and too small for its type in the other run."""
    return any(
        a.largest == 0 and result.dtype in FORMATS and 0 < b.largest < FORMATS[result.dtype].tiny
        for result, a, b in _statistics(one, other)
    )


def _statistics(one: Record, other: Record) -> Iterator[tuple[Result, Statistics, Statistics]]:
    """The results of the first with the statistics of both, where both have some."""
    for a, b in zip(one.results, other.results, strict=False):
        if a.statistics is not None and b.statistics is not None:
            yield a, a.statistics, b.statistics


def _rounded(one: Record, other: Record) -> bool:
    """Whether the two hold the same numbers in other types."""
    return [result.dtype for result in one.results] != [result.dtype for result in other.results]


def _error(shape: Sequence[int], one: Statistics, other: Statistics) -> float:
    """The relative error between two results, from their norms and the elements that were kept."""
    if not one.finite or not other.finite:
        return 0.0 if one.finite == other.finite else math.inf
    gaps = [abs(a - b) for a, b in zip(one.sample, other.sample, strict=False)]
    count = math.sqrt(max(math.prod(shape), 1))
    gaps += abs(one.norm - other.norm) / count, abs(one.low - other.low), abs(one.high - other.high)
    return max(gaps) / max(one.largest, 1e-300)
