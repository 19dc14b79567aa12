"""Which tests a path has passed: two branches on one test are taken together, or neither.

A value that differs between paths is a `phi`; its `Paths` keep what each path has tested. Where the same test is
passed again, the phi is the value of that path; a pattern that matches through two of them takes agreeing paths.
"""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.records import dataclass

# By key of the test: how it came out; by the negated key of what is compared with constants: those that it can equal.
Tests = Mapping[int, "bool | frozenset[object]"]

EVALUATION = 0  # stands for the key of any test that tells evaluation from training


@dataclass(frozen=True, slots=True)
class Assumption:
    """A setting that something else may change: `temperature=1.0`; where another file sets it, the row and that file."""

    text: str
    row: int = 0
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Usual:
    """How a test comes out for the defaults of parameters, and for which; nothing where they do not decide it.

    A parameter that is None by default is as often given as not: that path is not `seldom` the other one.
    """

    truth: bool | None = None
    on: tuple[Assumption, ...] = ()
    seldom: bool = True  # the other path is taken seldom

    @property
    def position(self) -> int | None:
        """The place, among what stands under the test and what under its contrary, that they lead to."""
        return None if self.truth is None else int(not self.truth)

    @property
    def places(self) -> tuple[int | None, int | None, tuple[Assumption, ...]]:
        """What `Paths` keep of it."""
        return (self.position if self.seldom else None), (self.position if self.on else None), self.on


NEITHER = Usual()
NOTHING_RAISED = Usual(True)


@dataclass(frozen=True, slots=True)
class Paths:
    """What tells the operands of a phi apart: in order, the tests that lead to each."""

    where: int  # the function in which the paths meet
    tests: tuple[Tests, ...]
    usual: int | None = None  # the position of the path that is taken as a rule: another one is seldom
    default: int | None = None  # that of the path to which the defaults in `on` lead
    on: tuple[Assumption, ...] = ()

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
