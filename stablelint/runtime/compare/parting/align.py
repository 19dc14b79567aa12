"""Where two traces part: the first records that differ, through insertions and other branches.

Records are paired by expression, module, phase and operation, a longest common subsequence over what differs.
Of a differing pair the records that made its operands are known: where one of them ran in one trace only, that
is where the two parted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from stablelint.runtime.compare.recording.trace import Record, Step, Trace

_WINDOW = 1500  # records of a step that are aligned together, from the first that differ


class Kind(StrEnum):
    """How two runs part."""

    RESULT = "result"  # the same operation on the same operands has another result
    DRAW = "draw"  # a generator gave other numbers
    OPERANDS = "operands"  # the same operation reads other tensors
    NUMBER = "number"  # a Python number among the arguments is another
    INPUT = "input"  # a tensor from outside holds other numbers
    ORDER = "order"  # the same numbers in another order
    SHAPE = "shape"  # a result of another shape or type
    PATH = "path"  # one run executes what the other does not
    ROUNDING = "rounding"  # an operation is further off than rounding explains
    NONFINITE = "nonfinite"  # a result is finite in one run only
    UNDERFLOW = "underflow"  # a result vanishes in one run only
    GROWTH = "growth"  # every operation is within rounding, and the error grows along them
    GRAPH = "graph"  # a compiler makes something else of it


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference: the records on both sides (one may be missing), and what ran only on one."""

    kind: Kind
    step: int
    first: Record | None
    second: Record | None
    only_first: tuple[Record, ...] = ()
    only_second: tuple[Record, ...] = ()


@dataclass(slots=True)
class _Counterparts:
    """Which record of the second run stands for one of the first: stretches of equal distance."""

    _starts: list[int] = field(default_factory=list)
    _distances: list[int] = field(default_factory=list)

    def add(self, first: int, second: int) -> None:
        """Two records that were paired; they come in their order."""
        if not self._distances or second - first != self._distances[-1]:
            self._starts.append(first)
            self._distances.append(second - first)

    def of(self, first: int) -> int:
        """The index in the second run."""
        place = bisect_right(self._starts, first) - 1
        return first + self._distances[max(place, 0)]


@dataclass(slots=True)
class Alignment:
    """What a walk over two traces found."""

    parting: Parting | None = None
    pairs: int = 0  # records that were paired
    detours: list[Parting] = field(default_factory=list)  # other paths that led to the same numbers
    counterparts: _Counterparts = field(default_factory=_Counterparts)


def paired(
    first: Sequence[Record], second: Sequence[Record]
) -> Iterator[tuple[Sequence[Record], Sequence[Record]]]:
    """Two stretches of records side by side: pairs of one each, and what stands on one side only."""
    i = j = 0
    while True:
        while i < len(first) and j < len(second) and first[i].key == second[j].key:
            yield (first[i],), (second[j],)
            i, j = i + 1, j + 1
        left, right = first[i : i + _WINDOW], second[j : j + _WINDOW]
        if not left and not right:
            return
        codes = SequenceMatcher(
            None, [one.key for one in left], [one.key for one in right], autojunk=False
        ).get_opcodes()
        if len(codes) > 1 and codes[-1][0] != "equal" and (len(left) == _WINDOW or len(right) == _WINDOW):
            codes.pop()  # what it lacks may stand behind the window
        for word, start, stop, other_start, other_stop in codes:
            here, there = left[start:stop], right[other_start:other_stop]
            if word == "equal":
                yield from (((one,), (other,)) for one, other in zip(here, there, strict=True))
            else:
                yield here, there
        i, j = i + codes[-1][2], j + codes[-1][4]


def align(first: Trace, second: Trace) -> Alignment:
    """Walk over both traces to the first difference of bits that is not another way to the same numbers."""
    found = Alignment()
    for one, other in zip_longest(first, second):
        if found.parting is None:
            found.parting = _part_in_step(one, other, found)
    return found


def _part_in_step(one: Step | None, other: Step | None, found: Alignment) -> Parting | None:
    sides = one.records if one else [], other.records if other else []
    number = (one or other or Step(0)).number
    for left, right in paired(*sides):
        if len(left) == len(right) == 1 and _corresponds(left[0], right[0]):
            found.pairs += 1
            found.counterparts.add(left[0].index, right[0].index)
            if left[0].identity != right[0].identity:
                return _explained(left[0], right[0], found)
        else:
            found.detours.append(_detour(number, left, right))
    if (one is None) != (other is None) and found.detours:
        return found.detours[-1]  # one run has a step that the other has not
    return None


def _corresponds(one: Record, other: Record) -> bool:
    return one.key == other.key or one.identity == other.identity


def _detour(step: int, left: Sequence[Record], right: Sequence[Record]) -> Parting:
    head = left[0] if left else None, right[0] if right else None
    return Parting(Kind.PATH, step, *head, tuple(left), tuple(right))


def _explained(one: Record, other: Record, found: Alignment) -> Parting:
    """A differing pair, or the detour that made one of its operands."""
    for side, record in enumerate((one, other)):
        detour = _feeding((record,), side, found.detours)
        while detour is not None:
            earlier = _feeding(_strays(detour, side), side, found.detours[: found.detours.index(detour)])
            if earlier is None:
                return detour
            detour = earlier
    kind = kind_of(one, other)
    if kind is Kind.RESULT and {found.counterparts.of(index) for index in one.operands} != other.operands:
        kind = Kind.OPERANDS
    for detour in found.detours if kind is Kind.DRAW else ():
        if any("draw" in stray.traits for stray in (*detour.only_first, *detour.only_second)):
            return detour
    return Parting(kind, one.step, one, other)


def _feeding(records: Sequence[Record], side: int, detours: Sequence[Parting]) -> Parting | None:
    """The first detour that made an operand of one of `records`."""
    read = {index for record in records for index in record.operands}
    return next((one for one in detours if any(stray.index in read for stray in _strays(one, side))), None)


def _strays(detour: Parting, side: int) -> tuple[Record, ...]:
    return (detour.only_first, detour.only_second)[side]


def kind_of(one: Record, other: Record) -> Kind:
    """How the results of two records that correspond differ, given that their operands do not."""
    shapes = [[(result.shape, result.dtype) for result in record.results] for record in (one, other)]
    if "draw" in one.traits:
        return Kind.DRAW
    if one.numbers != other.numbers:
        return Kind.NUMBER
    if shapes[0] != shapes[1]:
        return Kind.SHAPE
    bags = [[result.statistics and result.statistics.bag for result in side.results] for side in (one, other)]
    if bags[0] == bags[1] and None not in bags[0]:
        return Kind.ORDER
    return Kind.INPUT if one.phase == "input" else Kind.RESULT
