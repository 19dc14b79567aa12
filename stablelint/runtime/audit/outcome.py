"""What a check is, what it answers, and which checks there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from stablelint.runtime.audit import checks
from stablelint.runtime.audit.record import LayerFacts, ParameterFacts, Place, Run, place
from stablelint.runtime.plain import Json, plural
from stablelint.runtime.program.location import Location, place_json

Subject = str | ParameterFacts | LayerFacts


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    UNSEEN = "not seen"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a check: its evidence, the parameters, layers or columns it speaks of, and what to do."""

    status: Status
    evidence: str
    subjects: tuple[str, ...] = ()
    location: Location | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A question about a run. `judge` returns None where the run did not show what it needs."""

    name: str
    family: str
    sentence: str
    needs: str
    judge: Callable[[Run], Outcome | None] = field(repr=False)

    def __call__(self, run: Run) -> Outcome:
        """The answer for `run`; a check that fails to answer says so and spoils no other."""
        try:
            return self.judge(run) or Outcome(Status.UNSEEN, f"needs {self.needs}")
        except Exception as error:
            return Outcome(Status.UNSEEN, f"could not be decided: {type(error).__name__}: {error}")


def check(needs: str) -> Callable[[Callable[[Run], Outcome | None]], Check]:
    """Make a check of a function: its docstring states what holds where it passes, `needs` what it must see."""

    def make(judge: Callable[[Run], Outcome | None]) -> Check:
        name = judge.__name__.replace("_", "-")
        return Check(name, judge.__module__.rpartition(".")[2], judge.__doc__ or name, needs, judge)

    return make


def passed(evidence: str) -> Outcome:
    """All is well."""
    return Outcome(Status.PASSED, evidence)


def all_of(count: int, noun: str) -> Outcome | None:
    """All is well with so many; None where there are none."""
    return passed(plural(count, noun)) if count else None


def warned(evidence: str, remedy: str, *subjects: Subject, at: Place = None) -> Outcome:
    """It may be meant, and often is not. `{names}` in the evidence stands for the subjects; the first has a place."""
    return _told(Status.WARNED, evidence, remedy, subjects, at)


def failed(evidence: str, remedy: str, *subjects: Subject, at: Place = None) -> Outcome:
    """It is wrong. `{names}` in the evidence stands for the subjects; the first has a place."""
    return _told(Status.FAILED, evidence, remedy, subjects, at)


def _told(status: Status, evidence: str, remedy: str, subjects: Sequence[Subject], at: Place) -> Outcome:
    names = tuple(one if isinstance(one, str) else one.name for one in subjects)
    sites = (one.site for one in subjects if not isinstance(one, str))
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    evidence = evidence.replace("{names}", ", ".join(names[:4]) + more)
    return Outcome(status, evidence, names, place(at or next(sites, None)), remedy)


@dataclass(frozen=True, slots=True)
class Result:
    """A check with its outcome."""

    check: Check
    outcome: Outcome

    def as_json(self) -> dict[str, Json]:
        """The result as ``audit --output-format json`` prints it."""
        return {
            "check": self.check.name,
            "family": self.check.family,
            "sentence": self.check.sentence,
            "status": self.outcome.status.value,
            "evidence": self.outcome.evidence,
            "subjects": list(self.outcome.subjects),
            **place_json(self.outcome.location),
            "remedy": self.outcome.remedy,
        }


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check in the folder `checks`, family by family, in the order in which they are written."""
    return tuple(_walk())


def _walk() -> Iterator[Check]:
    families = [
        importlib.import_module(f"{checks.__name__}.{found.name}")
        for found in pkgutil.iter_modules(checks.__path__)
    ]
    for family in sorted(families, key=lambda module: module.ORDER):
        yield from (value for value in vars(family).values() if isinstance(value, Check))


def judge(run: Run) -> tuple[Result, ...]:
    """The answers of all checks."""
    return tuple(Result(one, one(run)) for one in all_checks())
