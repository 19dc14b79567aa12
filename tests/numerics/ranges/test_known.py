"""What the tables say of the ranges that the rules reason from."""

import math
import subprocess
import sys

import pytest

from stablelint.numerics.formats import BFLOAT16, FLOAT16, FLOAT32, FORMATS, FloatFormat
from stablelint.numerics.interval import (
    ANYTHING,
    BOOLEAN,
    COUNT,
    NONNEGATIVE,
    POSITIVE,
    SIGNED_UNIT,
    TOP,
    UNIT,
    Interval,
)
from stablelint.numerics.ranges import OPERATIONS, range_of
from stablelint.syntax.operations import SELECTIONS, VIEWS, canonical

INF = math.inf
P = Interval.point
MASKED = Interval(-INF, INF, hi_open=True)


@pytest.mark.parametrize(
    ("operation", "operands", "params", "text"),
    [
        ("exp", [TOP], {}, "[0, inf]"),
        ("exp", [Interval(-INF, 0, lo_open=True)], {}, "[0, 1]"),
        ("exp", [Interval(-5, 5)], {}, "[0.006738, 148.4]"),
        ("softmax", [TOP], {"dim": -1}, "[0, 1]"),
        ("softmax", [SIGNED_UNIT], {}, "(0, 1]"),
        ("softmax", [MASKED], {}, "[0, 1] or NaN"),
        ("log_softmax", [TOP], {}, "(-inf, 0]"),
        ("sigmoid", [TOP], {}, "[0, 1]"),
        ("sigmoid", [Interval(-10, 10)], {}, "[4.54e-05, 0.99995458]"),
        ("sigmoid", [Interval(-95, 0)], {}, "[0, 0.5]"),
        ("silu", [Interval(-95, -90)], {}, "[-7.375e-38, 0]"),
        ("logsigmoid", [TOP], {}, "(-inf, 0]"),
        ("tanh", [TOP], {}, "[-1, 1]"),
        ("gelu", [Interval(0, INF)], {}, "[0, inf] or NaN"),
        ("gelu", [Interval(0, INF)], {"approximate": "tanh"}, "[0, inf]"),
        ("erf", [POSITIVE], {}, "[0, 1]"),
        ("cosh", [Interval(-2000, -1000)], {}, "{inf}"),
        ("softplus", [TOP], {}, "[0, inf)"),
        ("relu", [TOP], {}, "[0, inf)"),
        ("relu", [POSITIVE], {}, "(0, inf)"),
        ("log", [UNIT], {}, "[-inf, 0]"),
        ("log", [POSITIVE], {}, "(-inf, inf)"),
        ("log", [TOP], {}, "[-inf, inf) or NaN"),
        ("log", [Interval(-2, -1)], {}, "[-inf, inf] or NaN"),
        ("log1p", [NONNEGATIVE], {}, "[0, inf)"),
        ("sqrt", [POSITIVE], {}, "(0, inf)"),
        ("rsqrt", [NONNEGATIVE], {}, "(0, inf]"),
        ("rsqrt", [Interval(-1, 4)], {}, "[-inf, inf] without 0 or NaN"),
        ("acos", [Interval(-1.5, 0)], {}, "[1.571, 3.142] or NaN"),
        ("pow", [TOP.without_zero() or TOP, P(2.0)], {}, "(0, inf)"),
        ("clamp", [TOP], {"min": 1e-8}, "[1e-08, inf)"),
        ("clamp", [TOP], {"min": -1, "max": P(1.0)}, "[-1, 1]"),
        ("clamp", [ANYTHING], {"min": 0.5}, "[0.5, inf] or NaN"),
        ("clamp", [TOP, P(0.0), P(2.0)], {}, "[0, 2]"),
        ("nan_to_num", [ANYTHING], {"posinf": 1.0, "neginf": 0.0}, "(-inf, inf)"),
        ("where", [BOOLEAN, POSITIVE, P(1.0)], {}, "(0, inf)"),
        ("masked_fill", [TOP, BOOLEAN, P(-INF)], {}, "[-inf, inf)"),
        ("masked_fill", [TOP, BOOLEAN], {"value": -1e9}, "(-inf, inf)"),
        ("sum", [POSITIVE], {}, "(0, inf)"),
        ("sum", [POSITIVE], {"nonempty": False}, "[0, inf)"),
        ("sum", [BOOLEAN], {}, "[0, inf)"),
        ("sum", [UNIT], {"size": 4}, "[0, 4]"),
        ("sum", [Interval(1, 2)], {"size": Interval(0, 3)}, "[0, inf)"),
        ("mean", [POSITIVE], {}, "(0, inf)"),
        ("mean", [UNIT], {"nonempty": False}, "[0, 1] or NaN"),
        ("var", [TOP], {}, "[0, inf)"),
        ("std", [P(3.0)], {}, "{0}"),
        ("norm", [TOP], {}, "[0, inf)"),
        ("norm", [Interval(1, 2)], {}, "[1, inf)"),
        ("norm", [TOP], {"p": INF}, "[0, inf)"),
        ("cumprod", [Interval(0, 1, lo_open=True)], {}, "[0, 1]"),
        ("matmul", [NONNEGATIVE, UNIT], {}, "[0, inf)"),
        ("maximum", [TOP, P(1e-6)], {}, "[1e-06, inf)"),
        ("amax", [UNIT], {}, "[0, 1]"),
        ("fmod", [TOP, P(2.0)], {}, "[-2, 2]"),
        ("count_nonzero", [TOP], {}, "[0, inf)"),
        ("rand", [], {}, "[0, 1)"),
        ("arange", [P(10.0)], {}, "[0, 9]"),
        ("arange", [P(1.0), P(2.0), P(0.25)], {}, "[1, 2]"),
        ("arange", [P(2.5)], {}, "[0, 2]"),
        ("randint", [P(1.0), P(7.0)], {}, "[1, 6]"),
        ("one_hot", [COUNT], {}, "[0, 1]"),
        ("linspace", [P(0.0), P(1.0)], {}, "[0, 1]"),
        ("long", [Interval(0.5, 3.5)], {}, "[0, 3]"),
        ("cross_entropy", [TOP, TOP], {}, "[0, inf)"),
        ("binary_cross_entropy", [UNIT, UNIT], {}, "[0, 100]"),
        ("scaled_dot_product_attention", [TOP, TOP, UNIT], {}, "[0, 1]"),
    ],
)
def test_known_ranges(operation: str, operands: list[Interval], params: dict[str, object], text: str) -> None:
    assert str(range_of(operation, operands, params, FLOAT32)) == text


@pytest.mark.parametrize(
    ("operation", "operand", "fmt", "text"),
    [
        ("exp", Interval(0, 12), FLOAT16, "[1, inf]"),
        ("exp", Interval(0, 12), BFLOAT16, "[1, 162816]"),
        ("exp", Interval(-20, 0), FLOAT16, "[0, 1]"),
        ("sigmoid", Interval(-10, 10), FLOAT16, "[4.542e-05, 1]"),
        ("sigmoid", Interval(-20, 5), FLOAT16, "[0, 0.9932]"),
        ("nanmean", Interval(1, 2), FLOAT16, "[1, inf]"),
        ("normalize", UNIT, FLOAT16, "[0, 1] or NaN"),
        ("normalize", UNIT, FLOAT32, "[0, 1]"),
    ],
)
def test_a_narrow_format_overflows_and_underflows(
    operation: str, operand: Interval, fmt: FloatFormat, text: str
) -> None:
    assert str(range_of(operation, [operand], {}, fmt)) == text


def test_an_unknown_operation_has_no_range() -> None:
    assert range_of("frobnicate", [TOP]) is None


def test_an_entry_is_of_an_operation_that_is_spelled() -> None:
    assert {name for name in OPERATIONS if canonical(name) is None} == {"copysign"}  # which is Python's alone
    assert not OPERATIONS.keys() & (VIEWS | SELECTIONS)


EXTREMES = [
    [],
    [TOP, TOP],
    [ANYTHING, ANYTHING, ANYTHING],
    [POSITIVE, NONNEGATIVE, BOOLEAN],
    [P(0.0), P(0.0), P(0.0)],
    [P(INF), P(-INF), P(INF)],
    [P(-INF), P(INF)],
    [Interval(-3, -2, lo_open=True, hi_open=True)] * 3,
    [Interval(0, 1e-60, lo_open=True, hi_open=True)] * 3,
    [Interval(-1e308, 1e308), Interval(1e308, INF, hi_open=True), P(1e308)],
    [P(math.nan), P(5e-324)],
]
ODD_PARAMS: dict[str, object] = {
    **dict.fromkeys(("min", "max", "value", "dtype", "size", "p", "eps", "beta"), "text"),
    "alpha": -1.0,
    "decimals": 2,
}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_no_operands_make_an_entry_fail(operation: str) -> None:
    for fmt in FORMATS.values():
        for operands in EXTREMES:
            for params in ({}, ODD_PARAMS):
                assert isinstance(range_of(operation, operands, params, fmt), Interval)


def test_the_tables_load_without_torch() -> None:
    code = (
        "import sys, stablelint.numerics.ranges; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "huber_loss"])
def test_a_loss_with_weights_has_their_signs(loss: str) -> None:
    apart = Interval.point(1.0), Interval.point(3.0)
    weighted = range_of(loss, apart, {"weight": SIGNED_UNIT})
    assert weighted is not None
    assert weighted.contains(-1.0)
    assert weighted.contains(0.0)
