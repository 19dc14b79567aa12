"""One run of a program whose expressions are hooked, and the runs with an edit that follow from it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stablelint.runtime.crash.rerun.edits import COSTS, Pool, edits_of, edits_of_call, without

_WAITING = 4.0  # times its share of the processor that a run may wait
_IN_VAIN, _MOST_IN_VAIN = 5, 12  # edits of a place in a row that change nothing: of numbers, and of others
_STALLED = 10.0  # seconds after which a run is ended that heeds no other signal
_NUMBERS = 2  # others of a place that go on
_ALIKE, _PASSED = (
    7,
    8,
)  # exit codes of a run that ends as the program does as it is, or goes on behind what failed


class Outcome(NamedTuple):
    """What became of a run, and of which edit."""

    place: int  # -1 for the program as it is
    kind: str
    changes: Any  # the text, or the changes of arguments and what stands behind the call
    end: str  # "ended", "time" for one that is still running, or the kind of the error and its message
    passed: int  # how often what failed was passed
    warned: int
    seconds: float
    reached: dict[str, float]  # places, and after which time they were reached first
    dimensions: int  # of what the failed expression gives; -1 where that is no tensor
    turn: int  # of the edit, of all that start anew


class Stop(BaseException):
    """The time of a run is over."""


@dataclass
class Run:
    """One run, and the runs with an edit that start where it reaches a place."""

    report: int  # a file descriptor
    pool: Pool
    limits: dict[int, float] | None = (
        None  # seconds that runs may take from places; None for the program as it is
    )
    given: dict[int, tuple[bool, bool]] = field(
        default_factory=dict
    )  # whose numbers are edited, and which are written out
    until: float = 0.0  # of the processor, of this process and its children
    plain: str = ""  # how the program ends as it is
    before: int = 0  # how often what failed is passed then
    anew: bool = False  # whether each run with an edit starts from the start, as is fast where that is near
    passed: int = 0
    dimensions: int = -1
    turn: int = 0  # of the first edit
    place: int = -1
    edit: Any = None
    reached: dict[int, float] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)
    hops: dict[int, int] = field(default_factory=dict)  # of places behind what failed
    begun: float = field(default_factory=time.process_time)
    collected: list[tuple[int, str, Any]] | None = None  # edits of places, where runs start anew with each
    _numbers: dict[int, int] = field(default_factory=dict)  # edits of a place to other numbers that went on
    _in_vain: dict[int, int] = field(default_factory=dict)  # edits of a place in a row that changed nothing

    def value(self, numbers: tuple[int, ...], value: Any) -> Any:
        """A value at some places, edited where that is this run's edit."""
        if self.place in numbers and self.edit[0] == "value":
            return self.edit[1].apply(value)
        return self._edited(self._first(numbers), value)

    def _edited(self, numbers: list[int], value: Any) -> Any:
        for number in numbers:
            if type(value) is int and number not in self.given:
                continue
            for edit in edits_of(value, self.pool, *self.given.get(number, (True, False))):
                if self._branched(number, "value", edit):
                    return edit.apply(value)
        return value

    def call(self, numbers: tuple[int, ...], function: Any, *given: Any, **named: Any) -> Any:
        """A call at some places, edited where that is this run's edit."""
        sort = self.edit[0] if self.place in numbers else ""
        if sort == "call":
            return self.edit[1].apply(function, given, named)
        first = self._first(numbers)
        for number in first:
            for edit in edits_of_call(function, given, named, self.pool):
                if self._branched(number, "call", edit):
                    return edit.apply(function, given, named)
        result = function(*given, **named)
        left = without(function, given, result)
        if left is not None and (
            sort == "without" or any(self._branched(number, "without", left[0]) for number in first)
        ):
            return left[1]
        if sort == "value":
            return self.edit[1].apply(result)
        return self._edited(first, result)

    def pass_by(self, value: Any = None) -> Any:
        """What failed has been passed."""
        self.passed += 1
        if self.passed == self.before + 1:
            self.dimensions = getattr(value, "ndim", -1)
        return value

    def _first(self, numbers: tuple[int, ...]) -> list[int]:
        """The places among some that are reached first, and are to be edited."""
        new = [one for one in numbers if one not in self.reached] if self.place == -1 else []
        self.reached.update(dict.fromkeys(new, time.process_time() - self.begun))
        return [one for one in new if self.limits is not None and one in self.limits]

    def _branched(self, number: int, sort: str, edit: Any) -> bool:
        """Whether this is the child that goes on with an edit; the parent waits for its end."""
        if self.collected is not None:
            self.collected.append((number, sort, edit))
            return False
        if self.limits is None or self._is_in_vain(number, edit) or spent() > self.until:
            return False
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            self._learn(number, edit, os.waitstatus_to_exitcode(status))
            return False
        self.place, self.edit = number, (sort, edit)
        self.begun, self.reached = time.process_time(), {}
        limit(self.limits[number], self.stop)
        return True

    def stop(self) -> None:
        """The time is over."""
        self.tell("time")
        os._exit(self.code("time"))

    def _is_in_vain(self, number: int, edit: Any) -> bool:
        """Whether so many edits of a place have changed nothing that it has no part in what fails."""
        if not _is_number(edit):
            return self._in_vain.get(number, 0) >= _MOST_IN_VAIN
        return self._in_vain.get(number, 0) >= _IN_VAIN or self._numbers.get(number, 0) >= _NUMBERS

    def _learn(self, number: int, edit: Any, code: int) -> None:
        self._in_vain[number] = self._in_vain.get(number, 0) + 1 if code == _ALIKE else 0
        if code == _PASSED and _is_number(edit):
            self._numbers[number] = self._numbers.get(number, 0) + 1

    def code(self, end: str) -> int:
        """What the parent of a run is told by its exit code."""
        went_on = end in ("ended", "time") and self.passed > self.before
        return _PASSED if went_on else _ALIKE if end == self.plain else 0

    def each_anew(self, execute: Callable[[], str]) -> None:
        """Run the program from its start with each edit, in this process."""
        self.collected = []
        execute()
        edits, self.collected, limits = self.collected, None, self.limits or {}
        edits.sort(key=lambda one: (_rank(one[2], self.hops[one[0]]), one[0]))
        for turn, (number, sort, edit) in list(enumerate(edits))[self.turn :]:
            self.turn = turn
            if spent() > self.until or self._is_in_vain(number, edit):
                continue
            self.place, self.edit, self.passed, self.reached = number, (sort, edit), 0, {}
            self.warned, self.begun = set(), time.process_time()
            limit(limits[number], _stop)
            try:
                end = execute()
            except Stop:
                end = "time"
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.tell(end)
            self._learn(number, edit, self.code(end))
        self.place, self.edit, self.passed = -1, None, 0
        self.tell("all tried")

    def tell(self, end: str) -> None:
        """Report how the run ended."""
        sort, edit = self.edit or ("", None)
        changes = {"": None, "without": edit and edit[0], "value": edit and edit[1]}.get(
            sort, edit and edit[1:4:2]
        )
        kind = edit.kind if edit is not None else ""
        seconds = time.process_time() - self.begun
        reached = {str(number): at for number, at in self.reached.items()}
        told = Outcome(
            self.place,
            kind,
            changes,
            end,
            self.passed,
            len(self.warned),
            seconds,
            reached,
            self.dimensions,
            self.turn,
        )
        os.write(self.report, (json.dumps(told) + "\n").encode())


def _rank(edit: Any, hops: int) -> float:
    """In which turn an edit is tried: the likely ones first, the near ones first; numbers are often set further away."""
    if not _is_number(edit):
        return COSTS[edit.kind] + hops
    return COSTS[edit.kind] + hops / 2 + ("{}" in edit.text)


def _is_number(edit: Any) -> bool:
    return edit.kind in ("size", "number")


def _stop() -> None:
    raise Stop


def spent() -> float:
    """The time of the processor that this process and its children have had."""
    return sum(os.times()[:4])


def limit(seconds: float, stop: Callable[[], None]) -> None:
    """Call `stop` after some seconds of the processor; native code that heeds no signal is ended later."""
    signal.signal(signal.SIGPROF, lambda *_: stop())
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _WAITING * seconds + _STALLED)
