"""What a class counts up is never below what it starts from."""

from pathlib import Path

import pytest

from stablelint.analysis.files.abridging import abridge
from stablelint.analysis.files.counters import least_count
from stablelint.analysis.files.indexing import module_of
from stablelint.syntax.source import parse

STARTS = "class C:\n    def __init__(self):\n        self.n = 2\n    def step(self, x):\n        {}\n"


def least(text: str) -> float | None:
    module = module_of(parse(text.encode(), "m.py"), Path("m.py"), "")
    return least_count([module.classes["C"]], "n")


@pytest.mark.parametrize(
    "step",
    ["self.n += 1", "self.n = self.n + 1", "self.n += len(x)", "self.n += x.shape[0]", "self.n = 7", "pass"],
)
def test_counting_up_keeps_the_start(step: str) -> None:
    assert least(STARTS.format(step)) == 2


def test_the_least_of_several_starts_counts() -> None:
    assert least(STARTS.format("self.n = 0.5")) == 0.5


@pytest.mark.parametrize(
    "step",
    [
        "self.n -= 1",
        "self.n += x",
        "self.n += -1",
        "self.n *= 0",
        "self.n = x",
        "self.n = x.n + 1",
        "self.n, self.m = x",
        "for self.n in x: pass",
        "with x as self.n: pass",
        "del self.n",
    ],
)
def test_any_other_write_leaves_nothing_known(step: str) -> None:
    assert least(STARTS.format(step)) is None


def test_nothing_is_known_of_what_a_body_assigns_that_was_not_kept() -> None:
    module = module_of(parse(STARTS.format("self.n = 0").encode(), "m.py"), Path("m.py"), "")
    abridge(module, 40)
    assert least_count([module.classes["C"]], "n") is None
