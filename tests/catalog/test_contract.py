import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.catalog import RuleError, contract
from stablelint.catalog.contract import neighbours
from stablelint.numerics.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS, FloatFormat, round_to
from stablelint.numerics.interval import Interval

FORMAT = st.sampled_from([FLOAT16, BFLOAT16, FLOAT32, FLOAT64])
CONTRACTS = (
    "x > 0",
    "x >= 2 / max",
    "-1 < x < 1",
    "abs(x) >= max ** -0.5",
    "abs(x) < 1 and x != 0",
    "x <= log(max)",
)


def test_a_chain_is_two_comparisons() -> None:
    above, below = (one.allowed(FLOAT32) for one in contract.parse("0 < x <= 1").comparisons)
    assert above.meet(below) == Interval(0.0, 1.0, lo_open=True, hi_open=False)


def test_constants_are_those_of_the_dtype() -> None:
    parsed = contract.parse("abs(y) >= max ** -0.5")
    assert parsed.comparisons[0].value(FLOAT16) == pytest.approx(65504**-0.5)
    assert not parsed.holds({"y": -0.003}, FLOAT16)
    assert parsed.holds({"y": -0.003}, FLOAT32)


def test_a_hole_around_zero_is_known_to_proofs() -> None:
    (apart,) = contract.parse("abs(y) >= 0.5").comparisons
    assert apart.proved_by(Interval(0.5, 2.0), FLOAT32)
    assert apart.proved_by(Interval(-2.0, -0.5), FLOAT32)
    assert not apart.proved_by(Interval(-2.0, 2.0, nonzero=True), FLOAT32)
    assert apart.allowed(FLOAT32).nonzero


def test_nan_breaks_every_contract() -> None:
    assert not contract.parse("x < 1").holds({"x": math.nan}, FLOAT32)
    assert not contract.parse("x < 1").comparisons[0].proved_by(Interval(0.0, 0.5, nan=True), FLOAT32)


def test_what_a_pattern_does_not_bind_is_not_asked() -> None:
    parsed = contract.parse("x > 0 and u > -1")
    assert parsed.holds({"u": 0.0}, FLOAT32)
    assert not parsed.holds({"u": -1.0}, FLOAT32)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x > tinny", "undefined name `tinny`"),
        ("x > exq(1)", "undefined function `exq`"),
        ("x > y", "undefined name `y`"),
        ("1 > 0", "has a metavariable"),
        ("x == 1", "compares by"),
        ("x != 1", "with 0 only"),
        ("x + 1 > 0", "has a metavariable"),
        ("x > 0 or x < -1", "joins comparisons by `and`"),
        ("x >", "not a contract"),
        ("x > True", "not a constant"),
        ("x > __import__('os')", "undefined function"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    with pytest.raises(RuleError) as caught:
        contract.parse(text)
    assert says in caught.value.message


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(RuleError) as caught:
        contract.parse("x > tinny")
    assert caught.value.hint == "did you mean `tiny`?"


@pytest.mark.parametrize("text", CONTRACTS)
@pytest.mark.parametrize("fmt", list(FORMATS.values()), ids=list(FORMATS))
def test_boundaries_lie_on_both_sides_and_are_held_by_the_format(text: str, fmt: FloatFormat) -> None:
    parsed = contract.parse(text)
    values = parsed.boundaries("x", fmt)
    assert all(math.isfinite(v) and round_to(v, fmt) == v for v in values)
    assert {parsed.holds({"x": v}, fmt) for v in values} == {True, False}
    assert any(v == 0 and math.copysign(1, v) < 0 for v in values)


@given(text=st.sampled_from(CONTRACTS), fmt=FORMAT, value=st.floats(allow_nan=False))
def test_the_interval_of_allowed_operands_holds_each_of_them(
    text: str, fmt: FloatFormat, value: float
) -> None:
    parsed, operand = contract.parse(text), round_to(value, fmt)
    if math.isfinite(operand) and parsed.holds({"x": operand}, fmt):
        assert all(one.allowed(fmt).contains(operand) for one in parsed.comparisons)


@given(text=st.sampled_from(CONTRACTS), fmt=FORMAT, value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_point_is_proved_exactly_when_it_holds(text: str, fmt: FloatFormat, value: float) -> None:
    parsed, point = contract.parse(text), Interval(value, value, nonzero=value != 0)
    proved = all(one.proved_by(point, fmt) for one in parsed.comparisons)
    assert proved == parsed.holds({"x": value}, fmt)


@given(fmt=FORMAT, value=st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_lies_between_neighbours(fmt: FloatFormat, value: float) -> None:
    middle = round_to(value, fmt)
    if not math.isfinite(middle) or abs(middle) == fmt.max:
        return
    below, above = neighbours(middle, fmt)
    assert below < middle < above
    assert round_to(below, fmt) == below
    assert round_to(above, fmt) == above
    if fmt is FLOAT64:
        assert (below, above) == (math.nextafter(middle, -math.inf), math.nextafter(middle, math.inf))
    else:
        assert round_to((below + middle) / 2, fmt) in (below, middle)
        assert round_to((above + middle) / 2, fmt) in (above, middle)
