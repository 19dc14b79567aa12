"""Work in copies of the process, and what they may take."""

import itertools
import time

from stablelint.runtime.process.copies import Budget, said_by_copy


def test_a_copy_may_wait_longer_than_it_computes() -> None:
    def wait() -> bytes:
        time.sleep(2.5)
        return b"waited"

    assert said_by_copy(wait, 2) == b"waited"


def test_a_copy_that_computes_too_long_says_nothing() -> None:
    assert said_by_copy(lambda: str(sum(itertools.count())).encode(), 0.5) == b""


def test_what_copies_have_taken_of_a_budget_is_gone() -> None:
    budget = Budget(30)
    before = budget.left
    said_by_copy(lambda: str(sum(range(10**7))).encode(), 20)
    assert 0 < budget.left < before
