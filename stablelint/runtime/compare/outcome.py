"""What a comparison of runs found: plain frozen data, as `compare --output-format json` prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stablelint.runtime.compare.parting.align import Kind, Parting
from stablelint.runtime.compare.recording.trace import Record
from stablelint.runtime.program.location import place_json

_STRAYS = 8
_SUMMARIES = {
    Kind.RESULT: "`{text}` gives another result for the same operands",
    Kind.DRAW: "`{text}` draws other numbers",
    Kind.OPERANDS: "`{text}` reads other tensors",
    Kind.NUMBER: "`{text}` is given another number: {first} and {second}",
    Kind.INPUT: "`{text}` is given a tensor from outside that holds other numbers",
    Kind.ORDER: "`{text}` is given the same numbers in another order",
    Kind.SHAPE: "`{text}` gives a result of another shape or type",
    Kind.ROUNDING: "`{text}` is further off than rounding explains",
    Kind.NONFINITE: "`{text}` is finite in one run and not in the other",
    Kind.UNDERFLOW: "`{text}` vanishes in one run: every element is 0",
    Kind.PATH: "the runs execute different operations from here on",
}


@dataclass(frozen=True, slots=True)
class Side:
    """What one run has at the difference."""

    filename: str
    location: dict[str, int | None] | None
    end_location: dict[str, int] | None
    expression: str
    operation: str
    numbers: tuple[object, ...] = ()
    shape: tuple[int, ...] = ()
    dtype: str = ""
    low: float | None = None
    high: float | None = None
    error: float | None = None  # in ulps, against the operation in float64 on the same operands
    allowed: float | None = None  # what rounding explains of it
    only_here: tuple[str, ...] = ()  # what ran in this run alone


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference: where, how, and what each run has there."""

    kind: Kind
    step: int
    phase: str
    module: str
    summary: str
    first: Side | None
    second: Side | None
    operands: tuple[dict[str, Any], ...] = ()
    values: dict[str, Any] | None = None  # the two results within tolerances
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """A remedy that was tried, and whether the command repeats itself with it."""

    remedies: tuple[str, ...]
    reproducible: bool
    note: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the runs part, by name, with the remedy; `name` is "unknown" where nothing tells."""

    name: str
    summary: str
    evidence: tuple[str, ...] = ()
    advice: str | None = None
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """The error between the two runs after an operation, in bits of its result's significand that are wrong."""

    index: int
    step: int
    phase: str
    expression: str
    filename: str
    row: int
    error: float  # relative
    growth: float  # times the largest error of its operands


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One of the two runs."""

    label: str
    steps: int
    operations: int
    full: bool  # the limit on disk was reached
    losses: tuple[tuple[int, float], ...]
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of a command compared."""

    mode: str
    same: bool
    summary: str
    runs: tuple[RunSummary, ...]
    difference: Difference | None = None
    cause: Cause | None = None
    chain: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()
    script: dict[str, Any] | None = None
    kind: str = "runs"


def describe(parting: Parting) -> Difference:
    """The parting as it is reported."""
    record = parting.first or parting.second
    assert record is not None
    first, second = (
        ", ".join(map(str, one.numbers)) if one is not None else "" for one in (parting.first, parting.second)
    )
    return Difference(
        parting.kind,
        parting.step,
        record.phase,
        record.module,
        _SUMMARIES[parting.kind].format(text=record.place.expression, first=first, second=second),
        _side_of(parting.first, parting.only_first),
        _side_of(parting.second, parting.only_second),
    )


def _side_of(record: Record | None, strays: tuple[Record, ...] = ()) -> Side | None:
    """One side of a difference."""
    if record is None:
        return None
    result = record.results[0] if record.results else None
    known = result.statistics if result else None
    return Side(
        **place_json(record.place),
        operation=record.operation,
        numbers=record.numbers,
        shape=result.shape if result else (),
        dtype=result.dtype if result else "",
        low=known.low if known else None,
        high=known.high if known else None,
        error=record.local[0] if record.local else None,
        allowed=record.local[1] if record.local else None,
        only_here=tuple(dict.fromkeys(stray.place.expression for stray in strays))[:_STRAYS],
    )
