"""What is kept of a site's calls is bounded, whatever comes."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from stablelint.runtime.verify.probe.look import Extent
from stablelint.runtime.verify.probe.recorder import Recorder, Watched
from stablelint.runtime.verify.probe.sample import CALLS_FAILING, CALLS_RANDOM, ELEMENTS, Sample, kept
from stablelint.runtime.verify.replay.values import Call

_NUMBERS = st.floats(width=32, allow_nan=True, allow_infinity=True)
_MOST = CALLS_FAILING + 3 + 6 + CALLS_RANDOM  # failing, three extremes of one operand, modes, random


@given(st.lists(st.lists(_NUMBERS, min_size=1, max_size=3), min_size=1, max_size=60))
def test_few_calls_are_kept_and_the_extreme_ones_among_them(rows: list[list[float]]) -> None:
    recorder = Recorder()
    watched = Watched(id="site", operands=("x",), measured=frozenset({"x"}))
    for row in rows:
        x = torch.tensor(row)
        recorder._look(watched, {"x": x}, torch.log(x), False)
    calls = watched.sample.calls()
    assert watched.calls == len(rows)
    assert 1 <= len(calls) <= _MOST
    finite = [value for row in rows if not any(map(math.isnan, row)) for value in row if math.isfinite(value)]
    if finite and watched.looked_at == len(rows):
        extent = watched.extents["x"]
        assert extent.low <= min(finite)
        assert extent.high >= max(finite)


@given(st.integers(1, 6), st.integers(0, 3), st.booleans())
def test_a_large_operand_is_cut_and_what_goes_with_it(rows: int, columns: int, paired: bool) -> None:
    wide = ELEMENTS // 2 + columns
    x = torch.zeros(rows, wide)
    other = torch.zeros(rows if paired else rows + 1)
    copies = kept({"x": x, "y": other, "eps": 1e-8})
    held = copies["x"]
    assert isinstance(held, torch.Tensor)
    assert (held.shape[0] < rows) is (x.numel() > ELEMENTS and rows > 1)
    assert held.numel() <= max(ELEMENTS, wide)
    beside = copies["y"]
    assert isinstance(beside, torch.Tensor)
    assert beside.shape[0] == (held.shape[0] if paired else rows + 1)
    assert copies["eps"] == 1e-8


def test_a_copy_does_not_change_with_its_operand() -> None:
    x = torch.ones(3)
    copies = kept({"x": x})
    x.zero_()
    held = copies["x"]
    assert isinstance(held, torch.Tensor)
    assert held.tolist() == [1.0, 1.0, 1.0]


@given(st.integers(1, 400))
def test_the_random_sample_stays_within_its_places(count: int) -> None:
    sample = Sample()
    for number in range(count):
        place = sample.draw()
        if place is not None:
            sample.drawn[place : place + 1] = [Call({"x": number})]
    numbers = [held.operands["x"] for held in sample.drawn]
    assert len(numbers) == len(set(numbers)) == min(count, CALLS_RANDOM)


def test_a_range_that_saw_nothing_finite_is_no_number() -> None:
    assert Extent().as_json()["min"] is None
