"""Which tests a path has passed: two branches on one test are taken together, or neither.

A value that differs between paths is a `phi`; its `Paths` keep what each path has tested. Where the same test is
passed again, the phi is the value of that path; a pattern that matches through two of them takes agreeing paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablelint.analysis.value import Value

Tests = Mapping[int, bool]  # by key of the test: how it came out

EVALUATION = 0  # stands for the key of any test that tells evaluation from training
_MODES = frozenset({"training", "is_training", "is_train"})


@dataclass(frozen=True, slots=True)
class Paths:
    """What tells the operands of a phi apart: in order, the tests that lead to each."""

    where: int  # the function in which the paths meet
    tests: tuple[Tests, ...]

    def agreeing(self, passed: Tests) -> list[int]:
        """Positions of the paths that do not contradict the tests passed."""
        return [i for i, tests in enumerate(self.tests) if agree(tests, passed)]


def agree(tests: Tests, passed: Tests) -> bool:
    """Whether some run passes both."""
    if not tests or not passed:
        return True
    return all(passed.get(key, truth) == truth for key, truth in tests.items())


def outcome(test: Value, truth: bool) -> dict[int, bool]:
    """What is known to have been tested where `test` is `truth`."""
    while test.op in ("logical_not", "python.not") and test.first is not None:
        test, truth = test.first, not truth
    found = {test.key: truth}
    if test.name in _MODES and not truth:
        found[EVALUATION] = True
    if (test.op, truth) in (("python.and", True), ("python.or", False)):
        for operand in test.operands.values():
            found.update(outcome(operand, truth))
    return found
