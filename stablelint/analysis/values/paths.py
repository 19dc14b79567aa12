"""Which tests a path has passed: two branches on one test are taken together, or neither.

A value that differs between paths is a `phi`; its `Paths` keep what each path has tested. Where the same test is
passed again, the phi is the value of that path; a pattern that matches through two of them takes agreeing paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stablelint.analysis.values.value import Value

# By key of the test: how it came out; by the negated key of what is compared with constants: those that it can equal.
Tests = Mapping[int, "bool | frozenset[object]"]

EVALUATION = 0  # stands for the key of any test that tells evaluation from training
_MODES = frozenset({"training", "is_training", "is_train"})


@dataclass(frozen=True, slots=True)
class Paths:
    """What tells the operands of a phi apart: in order, the tests that lead to each."""

    where: int  # the function in which the paths meet
    tests: tuple[Tests, ...]
    usual: int | None = None  # the position of the path that defaults lead to, or on which nothing was raised

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


def outcome(test: Value, truth: bool) -> dict[int, bool | frozenset[object]]:
    """What is known to have been tested where `test` is `truth`."""
    while test.op in ("logical_not", "python.not") and test.first is not None:
        test, truth = test.first, not truth
    found: dict[int, bool | frozenset[object]] = {test.key: truth}
    if test.name in _MODES and not truth:
        found[EVALUATION] = True
    if (test.op, truth) in (("python.and", True), ("python.or", False)):
        for operand in test.operands.values():
            found.update(outcome(operand, truth))
    choice = _choice(test, truth)
    if choice is not None:
        found[-choice[0]] = choice[1]
    return found


def _choice(test: Value, truth: bool) -> tuple[int, frozenset[object]] | None:
    """What a test compares with constants, and those of them that it equals: `kind == "a" or kind == "b"`."""
    if (test.op, truth) in (("python.or", True), ("python.and", False)):
        parts = [_choice(operand, truth) for operand in test.operands.values()]
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts) or len({key for key, _ in known}) > 1:
            return None
        return known[0][0], frozenset().union(*(values for _, values in known))
    if len(test.operands) != 2 or (test.op, truth) not in (("eq", True), ("ne", False), ("contains", True)):
        return None
    subject, constant = test.operands.values()
    choices = constant.data if test.op == "contains" else [constant]
    if not isinstance(choices, list) or not all(isinstance(v.constant(), str | int) for v in choices):
        return None
    return subject.key, frozenset(v.constant() for v in choices)
