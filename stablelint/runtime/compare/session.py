"""`stablelint compare -- COMMAND`: the command twice, the first difference, and its cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, starmap, zip_longest
from pathlib import Path
from typing import Any

import torch

from stablelint.runtime.compare.command import CommandFailedError, Run, Setup, pairs_of, record
from stablelint.runtime.compare.outcome import Comparison, Difference, RunSummary, Side, describe
from stablelint.runtime.compare.parting.align import Alignment, Kind, Parting, align
from stablelint.runtime.compare.parting.cause import Try, evidence_of, find_cause
from stablelint.runtime.compare.recording.trace import Trace
from stablelint.runtime.compare.tensors.tolerance import Tolerances, compare_tensors
from stablelint.runtime.plain import plain

_SHORT_SECONDS = 60.0  # a run that takes longer is repeated no further than the step of the difference


@dataclass(slots=True)
class Session:
    """Runs of one command, each recorded into a folder of its own; `say` is told what is under way."""

    folder: Path
    say: Callable[[str], None] = lambda _: None
    _numbers: Any = field(default_factory=lambda: count(1))

    def run(self, setup: Setup) -> Run:
        """Run the command as set up. Raises CommandNotFoundError and CommandFailedError."""
        return record(setup, self.next_folder(setup.label))

    def next_folder(self, label: str) -> Path:
        """The folder of the next run, which is told of."""
        number = next(self._numbers)
        self.say(f"run {number}: {label}")
        return self.folder / f"run-{number}"


def compare_again(session: Session, setup: Setup, *, attempts: bool = True) -> Comparison:
    """The command twice as it is: where it does not repeat itself, and why.

    Where only modules were recorded, the operations of the step in which they part are, in two more runs.
    """
    first = session.run(setup)
    second = session.run(replace(setup, label=f"{setup.label}, once more"))
    found, traces = aligned(first, second)
    runs = summaries_of(first, second)
    if found.parting is None:
        return Comparison("again", True, same(runs, found), runs, notes=notes_on(found))
    if setup.options.modules:
        step = found.parting.step
        near = replace(setup.options, modules=False, start=max(step - 1, 0), stop=step + 1, every=1)
        closer = compare_again(session, replace(setup, options=near), attempts=attempts)
        if not closer.same:
            return closer
    difference = _looked_at(session, setup, found.parting)
    parting = replace(found.parting, kind=difference.kind)
    attempt = _attempts(session, first, parting) if attempts else None
    cause = find_cause(parting, evidence_of(*traces, parting), found.pairs, attempt)
    return Comparison("again", False, difference.summary, runs, difference, cause, notes=notes_on(found))


def aligned(first: Run, second: Run) -> tuple[Alignment, tuple[Trace, Trace]]:
    """The alignment of the first two processes that part, or of the first two. Raises CommandFailedError."""
    pairs = pairs_of(first, second)
    found = [align(*pair) for pair in pairs]
    place = next((index for index, one in enumerate(found) if one.parting is not None), 0)
    return found[place], pairs[place]


def summary_of(label: str, traces: Sequence[Trace]) -> RunSummary:
    """A run as it is reported; its processes together."""
    losses: list[tuple[int, float]] = []
    operations = 0
    for trace in traces:
        for step in trace:
            operations += len(step.records)
            losses += [(step.number, value) for value in step.losses]
    ends = [trace.ended or {} for trace in traces]
    return RunSummary(
        label,
        max((int(end.get("steps", 0)) for end in ends), default=0),
        operations,
        any(end.get("full", False) for end in ends),
        tuple(losses),
        traces[0].facts,
    )


def summaries_of(first: Run, second: Run) -> tuple[RunSummary, RunSummary]:
    """Two runs as they are reported."""
    one, other = (summary_of(run.setup.label, run.traces) for run in (first, second))
    return one, other


def losses_agree(runs: tuple[RunSummary, RunSummary], rtol: float, atol: float) -> bool:
    """Whether the losses of two runs are within tolerances."""
    one, other = (torch.tensor([value for _, value in run.losses], dtype=torch.float64) for run in runs)
    return compare_tensors("loss", one, other, Tolerances(rtol, atol, equal_nan=True)).same


def notes_on(found: Alignment) -> tuple[str, ...]:
    """What is worth knowing besides the difference."""
    detours = [one for one in found.detours if one is not found.parting]
    if not detours:
        return ()
    record = detours[0].first or detours[0].second
    where = f"`{record.place.expression}`" if record is not None else "?"
    return (f"{len(detours)} stretches ran otherwise and led to the same numbers, the first at {where}",)


def same(runs: tuple[RunSummary, RunSummary], found: Alignment) -> str:
    """The sentence on two runs that do not part."""
    steps = f" in {runs[0].steps:,} steps" if runs[0].steps else ""
    return f"nothing parts: {found.pairs:,} operations{steps} gave the same numbers, bit for bit"


def _attempts(session: Session, first: Run, parting: Parting) -> Try:
    """Runs the command twice under remedies, where it takes long no further than the step of the difference."""
    options = first.setup.options
    if first.seconds > _SHORT_SECONDS:
        options = replace(options, stop=parting.step + 1)

    def attempt(names: tuple[str, ...]) -> Alignment | None:
        label = f"with {', '.join(names)}" if names else "as it is"
        setup = replace(first.setup, options=options).under(*names, label=label)
        try:
            return aligned(session.run(setup), session.run(setup))[0]
        except CommandFailedError:
            return None

    return attempt


def _looked_at(session: Session, setup: Setup, parting: Parting) -> Difference:
    """The parting as it is reported.

    Where an operation gives another result, it is met again in two more runs: what it is given there, and both results.
    """
    if parting.kind is not Kind.RESULT or setup.options.modules:
        return describe(parting)
    met: list[dict[str, Any]] = []
    for side in (parting.first, parting.second):
        assert side is not None
        options = replace(setup.options, capture=side.index)
        one = session.run(replace(setup, options=options, label="to the difference")).captured()
        if one is None:
            note = "a second run of the command did not come to this operation"
            return replace(describe(parting), note=note)
        met.append(one)
    results = [torch.load(one["results"], weights_only=True) for one in met]
    if all(starmap(_reordered, zip(*results, strict=False))):
        parting = replace(parting, kind=Kind.ORDER)
    found = describe(parting)
    sides = [_measured(*pair) for pair in zip((found.first, found.second), met, strict=True)]
    operands = tuple(met[0]["operands"])
    return replace(found, operands=operands, values=_values(*results), first=sides[0], second=sides[1])


def _reordered(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same numbers in another order."""
    if one.shape != other.shape or torch.equal(one, other):
        return False
    return torch.equal(*(side.flatten().sort().values for side in (one, other)))


def _values(first: list[torch.Tensor], second: list[torch.Tensor]) -> dict[str, Any] | None:
    for place, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None or one.shape != other.shape:
            continue
        found = compare_tensors(f"result {place + 1}", one, other, Tolerances(0.0, 0.0, equal_nan=True))
        if not found.same:
            return dict(plain(found))
    return None


def _measured(side: Side | None, met: dict[str, Any]) -> Side | None:
    """A side with the error that the operation had when it was met again."""
    if side is None or met["local"] is None:
        return side
    error, allowed = (float(value) for value in met["local"])
    return replace(side, error=error, allowed=allowed)
