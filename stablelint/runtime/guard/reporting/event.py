"""What the guard reports: plain frozen data, with the JSON form that ``run --output-format json`` prints.

Besides what it raises a guard writes to a log of JSON lines and to a TensorBoard writer.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Protocol

from stablelint.runtime.plain import Json, plain
from stablelint.runtime.program.location import Location, Unsaved, place_json
from stablelint.runtime.tensors.measure import OperandStats


class Kind(StrEnum):
    """What went wrong."""

    NAN = "nan"
    INF = "inf"
    EXPLOSION = "gradient-explosion"


class Phase(StrEnum):
    """When it went wrong."""

    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"


class Origin(StrEnum):
    """Whose code, or which data, brought the first non-finite value."""

    MODULE = "module-forward"
    FUNCTION = "function"
    LOSS = "loss"
    CUSTOM_FUNCTION = "custom-function"
    BACKWARD = "backward"
    GRADIENTS = "gradient-processing"
    OPTIMIZER = "optimizer"
    BATCH = "bad-batch"
    PARAMETERS = "bad-parameters"
    EXPLOSION = "exploding-gradients"
    UNKNOWN = "unknown"


class Mechanism(StrEnum):
    """How a finite value became a non-finite one."""

    DOMAIN = "domain"  # an operand outside the operation's domain
    OVERFLOW = "overflow"  # the result passes the largest number of its type
    ABSORBED = "absorbed"  # a guard against zero that is itself zero in the operand's type
    LITERAL = "literal"  # written into the program
    UNINITIALISED = "uninitialised"  # memory read before it was written
    INHERITED = "inherited"  # the data or the parameters already held it
    GROWTH = "growth"  # values grew step by step; no operation is at fault


@dataclass(frozen=True, slots=True)
class LayerStats:
    """What a layer handed out: mean, standard deviation and largest magnitude, which are not finite where it is not."""

    name: str
    mean: float
    std: float
    largest: float
    before: float | None  # the largest magnitude in the step before


@dataclass(frozen=True, slots=True)
class BatchStats:
    """Mean, standard deviation and largest magnitude of a batch's tensor, and the range of each over other batches."""

    name: str
    numbers: tuple[float, float, float]
    others: int
    ranges: tuple[tuple[float, float], ...]

    def as_json(self) -> dict[str, Json]:
        """The batch as ``run --output-format json`` prints it."""
        row: dict[str, Json] = {"name": self.name, "others": self.others}
        for key, value, between in zip(("mean", "std", "largest"), self.numbers, self.ranges, strict=True):
            row[key] = {"value": plain(value), "others": plain(between)}
        return row


@dataclass(frozen=True, slots=True)
class Element:
    """The first non-finite element of a result: its index, and the elements of the operands behind it.

    `terms` tell the index in the batch's own words: sample 7, token 31.
    """

    index: tuple[int, ...]
    operands: tuple[tuple[str, float], ...]
    shape: tuple[int, ...] = ()  # of the result
    terms: tuple[tuple[str, int], ...] = ()

    def as_json(self) -> dict[str, Json]:
        """The element as ``run --output-format json`` prints it."""
        return {
            "index": list(self.index),
            "terms": dict(self.terms),
            "operands": {name: plain(value) for name, value in self.operands},
        }


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step as the guard saw it; `layers` holds a gradient norm for each watched parameter, or nothing."""

    step: int
    loss: float | None
    gradient_norm: float | None
    layers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Warned:
    """A gradient norm beyond its limit at a step that was finite; `layer` has the most of it."""

    step: int
    norm: float
    limit: float
    learned: bool  # from the steps before, and not given
    layer: str | None
    layer_norm: float | None

    def describe(self) -> str:
        """The warning in a sentence."""
        limit = f"{self.limit:.3g}, the {'usual' if self.learned else 'limit that was given'}"
        text = f"step {self.step}: the gradient norm is {self.norm:.3g}, beyond {limit}"
        return f"{text}; most of it in {self.layer} ({self.layer_norm:.3g})" if self.layer else text


@dataclass(frozen=True, slots=True)
class Growth:
    """The account of a run whose gradients grew until they overflowed; the norms by layer stand in its history."""

    learning_rates: tuple[float, ...]
    typical_norm: float | None  # median of the remembered norms: what clipping would have held the step to
    last_norm: float | None


@dataclass(frozen=True, slots=True)
class Event:
    """The first non-finite value of a run, and where it comes from.

    `exact` tells that the step was replayed and gave what it had computed bit for bit, the finite values in the names
    of `compared` among it. `location` is None when
    no expression could be named; `note` then says why.
    """

    kind: Kind
    phase: Phase
    origin: Origin
    mechanism: Mechanism | None
    step: int
    location: Location | None
    operation: str | None
    module: str | None
    operands: tuple[OperandStats, ...] = ()
    parameter: str | None = None  # name of the first non-finite parameter or gradient
    loss: float | None = None
    replayed_loss: float | None = None
    exact: bool = False
    compared: tuple[str, ...] = ()  # what the replay gave bit for bit, and is finite
    in_place: bool = False
    element: Element | None = None  # the first non-finite one of the result
    stack: tuple[Location, ...] = ()  # user frames around the expression, innermost first
    history: tuple[StepRecord, ...] = ()
    layers: tuple[str, ...] = ()  # the parameters whose gradient norms the history holds, in its order
    growth: Growth | None = None
    warned: tuple[Warned, ...] = ()  # steps before, whose gradient norms were beyond their limit
    parameters: tuple[OperandStats, ...] = ()  # as they stood, the largest first
    batch: tuple[BatchStats, ...] = ()  # beside the others
    activations: tuple[LayerStats, ...] = ()  # of the forward pass that went wrong, where they were asked for
    rank: int | None = None
    note: str | None = None
    unsaved: Unsaved | None = None  # the text around `location`, where it is in no file

    def as_json(self) -> dict[str, Json]:
        """The event as ``run --output-format json`` prints it."""
        apart = ("location", "unsaved")
        row = {one.name: plain(getattr(self, one.name)) for one in fields(self) if one.name not in apart}
        text = self.unsaved
        cell = {"cell": text.name if text else None, "source": text.text if text else None}
        return {**row, **place_json(self.location), **cell}

    def describe(self) -> str:
        """The event in one or two plain sentences."""
        what = {Kind.NAN: "NaN", Kind.INF: "Inf", Kind.EXPLOSION: "exploding gradients"}[self.kind]
        text = f"{what} in the {self.phase} pass of step {self.step}"
        if self.location is not None:
            place = self.unsaved.name if self.unsaved else self.location.filename
            text += f": `{self.location.expression}` at {place}:{self.location.row}"
            if self.location.span is not None:
                text += f":{self.location.span.start.column}"
        if self.module:
            text += f", in {self.module}"
        if self.rank is not None:
            text += f", rank {self.rank}"
        text += f" ({self.origin})"
        return f"{text}. {self.note}" if self.note else text


class NonFiniteError(RuntimeError):
    """Raised at the step whose loss or gradients are not finite, before they reach the parameters.

    `report` is what ``run --output-format json`` prints of the event: its cause, and the fix with its proof where
    there is one.
    """

    def __init__(self, event: Event, report: Mapping[str, Json] | None = None) -> None:
        self.event = event
        self.report = dict(report or {})
        super().__init__("\n".join([event.describe(), *self._explained()]))

    @property
    def cause(self) -> Mapping[str, Any]:
        """Why it happened: `summary`, and `code` and `name` of the rule where one speaks of the expression."""
        return self.report.get("cause") or {}  # type: ignore[return-value]

    @property
    def fix(self) -> Mapping[str, Any] | None:
        """The rewrite: `message`, `diff` and `edits`; None where there is none, or where its replay refuted it."""
        return self.report.get("fix")  # type: ignore[return-value]

    def _explained(self) -> Iterator[str]:
        if self.cause:
            yield f"because: {self.cause['summary']}"
        if self.fix is not None:
            yield f"fix ({self.fix['applicability']}): {self.fix['message']}"
        elif self.report.get("fix_withheld"):
            yield f"no fix: {self.report['fix_withheld']}"

    def __reduce__(self) -> tuple[type[NonFiniteError], tuple[Event, Mapping[str, Json]]]:
        # A pool of processes pickles what its worker raises, and waits for ever for what cannot be read back.
        return type(self), (self.event, self.report)


_SCALARS_EVERY = 10


class Writer(Protocol):
    """What a TensorBoard `SummaryWriter` answers to, as far as the guard speaks to it."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """Write a number."""

    def add_text(self, tag: str, text_string: str, global_step: int) -> object:
        """Write a text."""


class Records:
    """Appends reports to a log and tells a writer the course of the run; a log that cannot be written is said so."""

    def __init__(self, log: str | os.PathLike[str] | None = None, writer: Writer | None = None) -> None:
        self._log = log
        self._writer = writer
        self._lock = threading.Lock()

    def on_step(self, step: int, loss: float | None, norm: float | None) -> None:
        """Hand the numbers of every tenth step to the writer."""
        if self._writer is None or step % _SCALARS_EVERY:
            return
        for tag, value in (("stablelint/loss", loss), ("stablelint/gradient_norm", norm)):
            if value is not None:
                self._writer.add_scalar(tag, value, step)

    def on_report(self, event: Event, payload: Mapping[str, Json]) -> None:
        """Append a report to the log and show its event to the writer."""
        if self._writer is not None:
            self._writer.add_text("stablelint/event", event.describe(), event.step)
        if self._log is None:
            return
        try:
            with self._lock, open(self._log, "a", encoding="utf-8") as file:
                file.write(json.dumps(payload) + "\n")
        except OSError as error:
            warnings.warn(f"cannot write {os.fspath(self._log)}: {error.strerror}", stacklevel=2)
