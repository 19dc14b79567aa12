"""Why two runs of one command part: what the traces tell, and which remedy makes the command repeat itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from stablelint.runtime.compare.outcome import Cause, Trial
from stablelint.runtime.compare.parting.align import Alignment, Kind, Parting
from stablelint.runtime.compare.recording.remedies import REMEDIES, available
from stablelint.runtime.compare.recording.sources import LEFT_OVER
from stablelint.runtime.compare.recording.trace import Record, Source, Trace

_MOST_TRIALS = 8
_SHOWN = 3
# Which remedies are worth a run, in this order, for each way in which runs part.
_CANDIDATES = {
    Kind.DRAW: "seed clock entropy hash workers threads address",
    Kind.INPUT: "hash seed entropy clock workers files threads address",
    Kind.ORDER: "hash seed files workers entropy clock address",
    Kind.OPERANDS: "hash address seed files entropy clock",
    Kind.NUMBER: "hash seed clock entropy address",
    Kind.PATH: "hash seed clock entropy files workers deterministic threads address",
    Kind.SHAPE: "hash seed clock entropy files workers address",
    Kind.RESULT: "deterministic memory threads attention tf32",
}
# The remedy that a watched call speaks for.
_REMEDY_OF_SOURCE = {
    "numpy.random": "seed",
    "random": "seed",
    "uuid": "entropy",
    "os.urandom": "entropy",
    "os.getpid": "entropy",
    "os": "files",
    "time": "clock",
}
_ON_GPU = frozenset({"attention", "tf32"})

Try = Callable[[tuple[str, ...]], Alignment | None]
"""Runs the command twice under remedies and aligns; None where it fails under them."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two traces tell besides where they part: calls that gave each something else, before that.

    `left_over` are files that the second run read and the first had written.
    """

    sources: tuple[Source, ...]
    left_over: tuple[Source, ...]
    gpu: bool


def evidence_of(first: Trace, second: Trace, parting: Parting) -> Evidence:
    """Calls of sources of chance up to the parting that gave the runs different values, first come first."""
    reach = max((one.index for one in (parting.first, parting.second) if one is not None), default=0)
    calls = [[one for one in trace.sources if one.before <= reach + 1] for trace in (first, second)]
    left_over = tuple(one for one in calls[1] if one.name == LEFT_OVER)
    waiting: dict[tuple[str, str], list[Source]] = {}
    for other in reversed(calls[1]):
        waiting.setdefault((other.name, other.place.expression), []).append(other)
    found = []
    for one in calls[0]:
        same = waiting.get((one.name, one.place.expression))
        if same and same.pop().value != one.value:
            found.append(one)
    return Evidence(tuple(found), left_over, first.facts.get("gpu") is not None)


def find_cause(parting: Parting, evidence: Evidence, pairs: int, attempt: Try | None) -> Cause:
    """The cause by name. `attempt` runs the command twice under remedies and aligns; without it nothing is tried."""
    if evidence.left_over:
        return _left_over(evidence, attempt)
    if attempt is None:
        return _untried(parting, evidence)
    kept: tuple[str, ...] = ()
    trials: list[Trial] = []
    current, reached = parting, pairs
    waiting = list(candidates(parting, evidence))
    while waiting and len(trials) < _MOST_TRIALS:
        remedy = waiting.pop(0)
        found = attempt((*kept, remedy))
        trials.append(_trial((*kept, remedy), found))
        if found is None:
            continue
        if found.parting is None:
            return _named((*kept, remedy), parting, evidence, trials)
        if found.pairs > reached and _differs(found.parting, current):
            kept, current, reached = (*kept, remedy), found.parting, found.pairs
            tried = {name for trial in trials for name in trial.remedies}
            waiting = [one for one in candidates(current, evidence) if one not in tried]
    if kept:  # it goes further, and parts elsewhere
        return _named(kept, parting, evidence, trials)
    return Cause("unknown", _unknown(parting), tuple(_stated(evidence)), None, tuple(trials))


def _left_over(evidence: Evidence, attempt: Try | None) -> Cause:
    """A run that reads what the one before wrote: what it does without a remedy is told, no remedy is credited."""
    texts = dict.fromkeys(f"`{one.place.expression}` in line {one.place.row}" for one in evidence.left_over)
    reasons = tuple(f"{text} reads a file that the first run wrote" for text in list(texts)[:_SHOWN])
    trials = (_trial((), attempt(())),) if attempt is not None else ()
    advice = "remove what a run leaves behind before the next, or give each run a folder of its own"
    return Cause("state", "a file that the run before left", reasons, advice, trials)


def candidates(parting: Parting, evidence: Evidence) -> Iterator[str]:
    """Remedies in the order in which they are worth a run."""
    record = parting.first or parting.second
    reasons = [] if record is None else list(_from_record(record))
    if parting.kind is not Kind.DRAW:
        reasons += _remedies_of(evidence)
    for name in dict.fromkeys([*reasons, *_CANDIDATES[parting.kind].split()]):
        if (evidence.gpu or name not in _ON_GPU) and name in available():
            yield name


def _from_record(record: Record) -> Iterator[str]:
    if {"dropout", "no-grad"} <= record.traits:
        yield "dropout"
    if "unwritten" in record.traits:
        yield "memory"


def _remedies_of(evidence: Evidence) -> list[str]:
    """Generators first: a clock and the number of the process differ in every run, and are read for logs as well."""
    found = {_remedy_of(source) for source in evidence.sources if source.name != "os.getpid"}
    return [name for name in REMEDIES if name in found and name != "clock"]


def _remedy_of(source: Source) -> str:
    module = source.name.rpartition(".")[0]
    return _REMEDY_OF_SOURCE.get(source.name) or _REMEDY_OF_SOURCE.get(module, "seed")


def _differs(one: Parting, other: Parting) -> bool:
    """Whether two partings are at different expressions or steps: within a loop chance moves them."""
    places = [record.place if record is not None else None for record in (one.first, other.first)]
    return one.step != other.step or places[0] != places[1]


def _trial(names: tuple[str, ...], found: Alignment | None) -> Trial:
    if found is None:
        return Trial(names, False, "the command fails with it")
    if found.parting is None:
        return Trial(names, True, f"{found.pairs:,} operations repeat bit for bit")
    record = found.parting.first or found.parting.second
    where = f" at `{record.place.expression}`" if record else ""
    return Trial(names, False, f"still parts{where}, step {found.parting.step}")


def _named(names: Sequence[str], parting: Parting, evidence: Evidence, trials: Sequence[Trial]) -> Cause:
    causes = [REMEDIES[name].cause for name in names]
    advice = "; ".join(REMEDIES[name].advice for name in names)
    reasons = [*_drew(parting, names), *_stated(evidence, set(names))]
    return Cause("+".join(names), ", and ".join(causes), tuple(reasons), advice, tuple(trials))


def _untried(parting: Parting, evidence: Evidence) -> Cause:
    """The likeliest cause, named from what the traces tell alone."""
    likely = _named((next(candidates(parting, evidence)),), parting, evidence, ())
    if likely.evidence or parting.kind in (Kind.DRAW, Kind.RESULT):
        return replace(likely, summary=f"probably {likely.summary}")
    return replace(likely, name="unknown", summary=_unknown(parting))


def _drew(parting: Parting, names: Sequence[str]) -> Iterator[str]:
    record = parting.first if parting.kind is Kind.DRAW else None
    if record is not None and not {"seed", "clock", "entropy", "dropout"}.isdisjoint(names):
        yield f"torch's generator: `{record.place.expression}` is the first that draws other numbers"


def _stated(evidence: Evidence, names: set[str] | None = None) -> Iterator[str]:
    seen: set[str] = set()
    for source in evidence.sources:
        if names is not None and _remedy_of(source) not in names:
            continue
        line = f"{source.name}: `{source.place.expression}` in line {source.place.row} gave each run another value"
        if line not in seen and len(seen) < _SHOWN:
            seen.add(line)
            yield line


def _unknown(parting: Parting) -> str:
    if parting.kind is Kind.PATH:
        return "one run executes what the other does not, and nothing that was tried makes them agree"
    return "nothing that was tried makes the command repeat itself"
