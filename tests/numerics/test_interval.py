import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.numerics.formats import FLOAT16, FLOAT32, FLOAT64
from stablelint.numerics.interval import BOOLEAN, COUNT, POSITIVE, TOP, UNIT, Interval
from tests.numerics.sampling import intervals, members

INF = math.inf
PAIRS = {"a": intervals(nan=True), "b": intervals(nan=True), "seed": st.integers(0, 99)}


@given(**PAIRS)
def test_join_holds_the_members_of_both(a: Interval, b: Interval, seed: int) -> None:
    joined = a.join(b)
    assert a.subset_of(joined)
    assert b.subset_of(joined)
    assert joined == b.join(a)
    assert a.join(a) == a


@given(**PAIRS)
def test_meet_is_inside_both_and_loses_no_common_member(a: Interval, b: Interval, seed: int) -> None:
    met = a.meet(b)
    assert met == b.meet(a)
    assert a.meet(a) == a
    for value in (a.lo, a.hi, b.lo, b.hi, 0.0, 1.0, 0.25, -3.0):
        assert (met is not None and met.contains(value)) == (a.contains(value) and b.contains(value))
    if met is not None:
        assert met.subset_of(a)
        assert met.subset_of(b)


@given(**PAIRS)
def test_widening_is_an_upper_bound_and_stops(a: Interval, b: Interval, seed: int) -> None:
    current, chance = a, random.Random(seed)
    for _ in range(8):
        grown = current.widen(b)
        assert current.subset_of(grown)
        assert b.subset_of(grown)
        if grown == current:
            break
        current, b = grown, grown.join(Interval.point(chance.uniform(-1e6, 1e6)))
    else:
        pytest.fail("widening goes on")


def test_widening_keeps_a_sign_that_every_step_keeps() -> None:
    assert Interval(1, 1).widen(Interval(0.5, 2)) == Interval(0, INF, hi_open=True)
    assert Interval(-1, 1).widen(Interval(-2, 1)) == Interval(-INF, 1, lo_open=True)
    assert UNIT.widen(Interval(0, INF)) == Interval(0, INF)
    assert UNIT.widen(Interval(0.2, 0.5)) == UNIT


@given(a=intervals(), seed=st.integers(0, 99))
def test_rounding_keeps_the_members_that_the_format_has(a: Interval, seed: int) -> None:
    rounded = a.rounded(FLOAT32)
    for value in (a.lo, a.hi, 0.0, 1.0, 0.25, -3.0):
        if a.contains(value):
            assert rounded.contains(value)
    assert a.rounded(FLOAT64).lo == a.lo


def test_rounding_closes_a_finite_open_end() -> None:
    assert Interval(0, 1 - 1e-15, hi_open=True).rounded(FLOAT32) == UNIT
    assert Interval(1, 2, lo_open=True).rounded(FLOAT32) == Interval(1, 2)


def test_rounding_overflows_and_underflows_closed_ends() -> None:
    assert Interval(1e-9, 1e5).rounded(FLOAT16) == Interval(0, INF)
    assert Interval(1e5, INF, hi_open=True).rounded(FLOAT16) == Interval(INF, INF)


def test_an_open_zero_stays_open_unless_underflow_is_known() -> None:
    assert POSITIVE.rounded(FLOAT16) == POSITIVE
    assert POSITIVE.rounded(FLOAT16, underflow=True) == Interval(0, INF, hi_open=True)
    nonzero = Interval(-1, 1, nonzero=True)
    assert nonzero.rounded(FLOAT16) == nonzero
    assert nonzero.rounded(FLOAT16, underflow=True) == Interval(-1, 1)


def test_the_canonical_form_is_one() -> None:
    assert Interval(0, 1, nonzero=True) == Interval(0, 1, lo_open=True)
    assert Interval(2, 3, nonzero=True) == Interval(2, 3)
    assert Interval(0, 5.5, lo_open=True, integral=True) == Interval(1, 5, integral=True)
    assert Interval(0, 5, nonzero=True, integral=True).lo == 1
    assert math.copysign(1, Interval(-0.0, 1).lo) == 1


@pytest.mark.parametrize(
    "ends",
    [
        {"lo": 1, "hi": 0},
        {"lo": 0, "hi": 0, "lo_open": True},
        {"lo": 0, "hi": 0, "nonzero": True},
        {"lo": 0.2, "hi": 0.8, "integral": True},
        {"lo": math.nan, "hi": 1},
    ],
)
def test_an_interval_without_a_member_is_refused(ends: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="needs a member"):
        Interval(**ends)  # type: ignore[arg-type]


def test_without_zero_of_zero_is_nothing() -> None:
    assert Interval.point(0.0).without_zero() is None
    assert COUNT.without_zero() == Interval(1, INF, hi_open=True, integral=True)


def test_a_point_of_nan_holds_nan() -> None:
    point = Interval.point(math.nan)
    assert point.contains(math.nan)
    assert not point.is_point
    assert not TOP.contains(math.nan)


@given(a=intervals(nan=True), b=intervals(nan=True), seed=st.integers(0, 99))
def test_a_subset_has_no_member_outside(a: Interval, b: Interval, seed: int) -> None:
    for value in (*members(a, FLOAT64, random.Random(seed)), math.nan):
        if a.contains(value) and not b.contains(value):
            assert not a.subset_of(b)
            break
    else:
        assert a.meet(b) is not None


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (UNIT, "[0, 1]"),
        (POSITIVE, "(0, inf)"),
        (Interval(0, INF), "[0, inf]"),
        (Interval(-1, 1, nonzero=True), "[-1, 1] without 0"),
        (Interval(-INF, 88.7228, nan=True), "[-inf, 88.72] or NaN"),
        (Interval.point(0.5), "{0.5}"),
        (Interval(1e-8, 1.0000002), "[1e-08, 1.0000002]"),
        (BOOLEAN, "[0, 1]"),
    ],
)
def test_messages_show_it_as_a_set(interval: Interval, text: str) -> None:
    assert str(interval) == text
