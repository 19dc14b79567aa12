"""Which tests a path has passed: two branches on one test are taken together, or neither.

A value that differs between paths is a `phi`; its `Paths` keep what each path has tested. Where the same test is
passed again, the phi is the value of that path; a pattern that matches through two of them takes agreeing paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# By key of the test: how it came out; by the negated key of what is compared with constants: those that it can equal.
Tests = Mapping[int, "bool | frozenset[object]"]

EVALUATION = 0  # stands for the key of any test that tells evaluation from training


@dataclass(frozen=True, slots=True)
class Assumption:
    """A setting that something else may change: `temperature=1.0`, and the row in which it stands."""

    text: str
    row: int = 0


@dataclass(frozen=True, slots=True)
class Usual:
    """How a test comes out for the defaults of parameters, and for which; nothing where they do not decide it."""

    truth: bool | None = None
    on: tuple[Assumption, ...] = ()

    @property
    def position(self) -> int | None:
        """The place, among what stands under the test and what under its contrary, that they lead to."""
        return None if self.truth is None else int(not self.truth)


NEITHER = Usual()
NOTHING_RAISED = Usual(True)


@dataclass(frozen=True, slots=True)
class Paths:
    """What tells the operands of a phi apart: in order, the tests that lead to each."""

    where: int  # the function in which the paths meet
    tests: tuple[Tests, ...]
    usual: int | None = None  # the position of the path that defaults lead to, or on which nothing was raised
    on: tuple[Assumption, ...] = ()  # the settings that lead there

    def is_fallback(self, position: int) -> bool:
        """Whether a path is one that an exception leads to."""
        return self.usual is not None and position != self.usual and not any(self.tests)

    def agreeing(self, passed: Tests) -> list[int]:
        """Positions of the paths that do not contradict the tests passed."""
        return [i for i, tests in enumerate(self.tests) if agree(tests, passed)]


def agree(tests: Tests, passed: Tests) -> bool:
    """Whether some run passes both."""
    if not tests or not passed:
        return True
    return all(_agree(passed.get(key, truth), truth) for key, truth in tests.items())


def _agree(one: bool | frozenset[object], other: bool | frozenset[object]) -> bool:
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return not one.isdisjoint(other)
    return one == other
