"""The law of interval arithmetic, against torch: a result of members is a member of the result."""

import math
import random
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stablelint.numerics import arithmetic
from stablelint.numerics.formats import FLOAT16, FLOAT32, FLOAT64, FORMATS, FloatFormat
from stablelint.numerics.interval import COUNT, NONNEGATIVE, POSITIVE, TOP, UNIT, Interval
from stablelint.numerics.powers import power
from tests.numerics.sampling import holds, intervals, members

torch.set_num_threads(1)
INF = math.inf
P = Interval.point
NONZERO = Interval(-INF, INF, True, True, nonzero=True)
OPERATIONS: dict[str, Callable[[Interval, Interval, FloatFormat], Interval]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": arithmetic.div,
    "pow": power,
    "minimum": lambda a, b, fmt: arithmetic.minimum(a, b),
    "maximum": lambda a, b, fmt: arithmetic.maximum(a, b),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=40)
@given(a=intervals(), b=intervals(), seed=st.integers(0, 10**6))
def test_results_of_members_are_members(name: str, dtype: str, a: Interval, b: Interval, seed: int) -> None:
    fmt, chance = FORMATS[dtype], random.Random(seed)
    a, b = a.rounded(fmt), b.rounded(fmt)
    xs = torch.tensor(members(a, fmt, chance), dtype=getattr(torch, dtype))
    ys = torch.tensor(members(b, fmt, chance), dtype=getattr(torch, dtype))
    result = OPERATIONS[name](a, b, fmt)
    for x, y, z in zip(xs.tolist(), ys.tolist(), getattr(torch, name)(xs, ys).tolist(), strict=True):
        claimed = name == "pow" and z in (result.lo, result.hi, 0.0) and (z == 0 or math.isinf(z))
        assert holds(result, z, fmt) or claimed, f"{name}({x}, {y}) = {z} in {result}, operands {a}, {b}"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (arithmetic.div(P(1.0), TOP, FLOAT32), "[-inf, inf] without 0"),
        (arithmetic.div(P(1.0), POSITIVE, FLOAT32), "(0, inf)"),
        (arithmetic.div(P(1.0), UNIT, FLOAT32), "[1, inf]"),
        (arithmetic.div(UNIT, UNIT, FLOAT32), "[0, inf] or NaN"),
        (arithmetic.div(P(0.0), P(0.0), FLOAT32), "[-inf, inf] or NaN"),
        (arithmetic.sub(P(1.0), Interval(0, 1, hi_open=True), FLOAT32), "(0, 1]"),
        (arithmetic.add(POSITIVE, P(1.0), FLOAT32), "[1, inf)"),
        (arithmetic.add(COUNT, P(1.0), FLOAT32), "[1, inf)"),
        (arithmetic.add(UNIT, P(1e-8), FLOAT32), "[1e-08, 1]"),
        (arithmetic.add(NONNEGATIVE, P(0.0), FLOAT16), "[0, inf)"),
        (arithmetic.add(Interval(-INF, INF), Interval(-INF, INF), FLOAT32), "[-inf, inf] or NaN"),
        (arithmetic.add(TOP, P(-INF), FLOAT32), "{-inf}"),
        (arithmetic.mul(P(0.0), Interval(0, INF), FLOAT32), "{0} or NaN"),
        (arithmetic.mul(TOP, TOP, FLOAT32), "(-inf, inf)"),
        (arithmetic.mul(Interval(0, 300), Interval(0, 300), FLOAT16), "[0, inf]"),
        (arithmetic.mul(P(2.0**-20), P(2.0**-20), FLOAT16), "{0}"),
        (power(TOP, P(2.0), FLOAT32), "[0, inf)"),
        (power(TOP, P(3.0), FLOAT32), "(-inf, inf)"),
        (power(TOP, P(0.5), FLOAT32), "[0, inf) or NaN"),
        (power(NONNEGATIVE, P(-0.5), FLOAT32), "(0, inf]"),
        (power(TOP, P(-1.0), FLOAT32), "[-inf, inf] without 0"),
        (power(TOP, P(-2.0), FLOAT32), "(0, inf]"),
        (power(P(10.0), TOP, FLOAT32), "[0, inf]"),
        (power(TOP, P(0.0), FLOAT32), "{1}"),
        (power(P(0.9), COUNT, FLOAT32), "[0, 1]"),
        (arithmetic.absolute(Interval(-3, 2, nonzero=True)), "(0, 3]"),
        (arithmetic.maximum(TOP, P(1e-6)), "[1e-06, inf)"),
        (arithmetic.minimum(POSITIVE, P(1.0)), "(0, 1]"),
    ],
)
def test_known_results(result: Interval, text: str) -> None:
    assert str(result) == text


@pytest.mark.parametrize("attained", [True, False])
def test_a_quotient_by_an_attained_infinity_attains_0(attained: bool) -> None:
    positive = Interval(0.0, math.inf, lo_open=True, hi_open=True)
    result = OPERATIONS["div"](positive, Interval(1.0, math.inf, hi_open=not attained), FORMATS["float32"])
    assert result.contains(0.0) is attained


@pytest.mark.parametrize(
    ("got", "positive"),
    [
        (arithmetic.mul(POSITIVE, P(1e-3), FLOAT32), True),
        (arithmetic.mul(POSITIVE, POSITIVE, FLOAT32), True),
        (arithmetic.mul(POSITIVE, P(1e-30), FLOAT32), False),
        (arithmetic.mul(POSITIVE, P(1e-30), FLOAT64), True),
        (arithmetic.mul(POSITIVE, P(1e-4), FLOAT16), False),
        (arithmetic.mul(POSITIVE, POSITIVE, FLOAT16), False),
        (arithmetic.mul(NONZERO, NONZERO, FLOAT16), False),
        (power(POSITIVE, P(2.0), FLOAT16), False),
        (arithmetic.mul(NONZERO, P(1e-30), FLOAT32), False),
        (arithmetic.div(POSITIVE, P(1e3), FLOAT32), True),
        (arithmetic.div(POSITIVE, P(1e30), FLOAT32), False),
        (arithmetic.div(NONZERO, P(1e30), FLOAT32), False),
        (power(POSITIVE, P(2.0), FLOAT32), True),
        (power(POSITIVE, P(6.0), FLOAT32), False),
        (power(POSITIVE, P(0.5), FLOAT32), True),
    ],
)
def test_a_factor_or_power_of_half_the_exponents_takes_positive_numbers_to_0(
    got: Interval, positive: bool
) -> None:
    assert got.contains(0.0) is not positive
