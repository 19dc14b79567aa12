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

from stablelint.runtime.compare.outcome import Link
from stablelint.runtime.compare.parting.align import Kind, Parting, kind_of, paired
from stablelint.runtime.compare.recording.trace import Record, Result, Statistics, Trace

_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
_SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
_BEYOND = 4096.0  # roundings: a path that changes its results by more is another computation
_LONGEST = 4000
_CASTS = frozenset({"to_copy", "copy", "clone"})


@dataclass(slots=True)
class Followed:
    """What a walk over two traces found: the first difference that rounding does not explain, and every error."""

    parting: Parting | None = None
    pairs: int = 0
    links: list[Link] = field(default_factory=list)
    draws: Parting | None = None  # the first stretch that drew numbers and ran in one run only

    @property
    def worst(self) -> Link | None:
        """The operation that amplifies the error of its operands most."""
        return max(self.links, key=lambda link: link.growth, default=None)


@dataclass(slots=True)
class _Errors:
    """Relative errors by the first run's records, through casts that ran on one side only."""

    known: dict[int, float] = field(default_factory=dict)
    casts: dict[int, frozenset[int]] = field(default_factory=dict)

    def of_operands(self, record: Record) -> float:
        """The largest error of what an operation reads."""
        waiting, seen, largest = list(record.operands), set(), 0.0
        while waiting:
            index = waiting.pop()
            if index in seen:
                continue
            seen.add(index)
            largest = max(largest, self.known.get(index, 0.0))
            waiting.extend(self.casts.get(index, ()))
        return largest


def follow(first: Trace, second: Trace) -> Followed:
    """Walk over two traces that were judged; `parting.kind` says why the walk ended, if it did."""
    found, errors = Followed(), _Errors()
    strays: dict[int, Parting] = {}  # records of the second run that the first does not have
    for one, other in zip_longest(first, second):
        sides = one.records if one else [], other.records if other else []
        number = (one or other).number if one or other else 0
        for left, right in paired(*sides):
            if len(left) == len(right) == 1 and left[0].key == right[0].key:
                found.pairs += 1
                found.parting = _look(left[0], right[0], found, errors, strays)
                if found.parting is not None:
                    return found
            else:
                _take_strays(number, left, right, found, errors, strays)
    return found


def _take_strays(
    step: int,
    left: Sequence[Record],
    right: Sequence[Record],
    found: Followed,
    errors: _Errors,
    strays: dict[int, Parting],
) -> None:
    for record in left:
        errors.casts[record.index] = record.operands
    computed = [[one for one in side if one.operation not in _CASTS] for side in (left, right)]
    if any(computed):
        heads = [side[0] if side else None for side in computed]
        parting = Parting(Kind.PATH, step, heads[0], heads[1], tuple(computed[0]), tuple(computed[1]))
        fed = (strays[index] for one in computed[1] for index in one.operands if index in strays)
        parting = next(fed, parting)  # what an earlier stretch feeds is that one's consequence
        strays.update({one.index: parting for one in computed[1]})
        if any("draw" in one.traits for side in computed for one in side):
            found.draws = found.draws or parting


def _look(
    one: Record, other: Record, found: Followed, errors: _Errors, strays: dict[int, Parting]
) -> Parting | None:
    """One pair: its error is noted; returned where something else than rounding made it."""
    if one.identity == other.identity:
        return None
    error = max((_error(result.shape, a, b) for result, a, b in _statistics(one, other)), default=0.0)
    before = errors.of_operands(one)
    unit = max((_EPS.get(result.dtype, 0.0) for result in (*one.results, *other.results)), default=0.0)
    if error:
        errors.known[one.index] = error
        if len(found.links) < _LONGEST:
            place = one.place
            growth = error / max(before, unit) if unit else 0.0
            link = Link(
                one.index, one.step, one.phase, place.expression, place.filename, place.row, error, growth
            )
            found.links.append(link)
    kind = _kind(one, other, error, before)
    if kind is Kind.DRAW and found.draws is not None:
        return found.draws
    if kind is not None:
        return Parting(kind, one.step, one, other)
    for index in other.operands:
        if index in strays and error > _BEYOND * unit:
            return strays[index]
    return None


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
        a.largest == 0 and 0 < b.largest < _SMALLEST.get(result.dtype, 0.0)
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


def thinned(links: Sequence[Link], most: int) -> Iterator[Link]:
    """At most `most` links: those that grow most, in their order."""
    kept = sorted(sorted(links, key=lambda link: -link.growth)[:most], key=lambda link: link.index)
    yield from kept
