import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stablelint.numerics.formats import (
    FLOAT16,
    FLOAT32,
    FORMATS,
    FloatFormat,
    round_to,
)

EACH = pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)


@EACH
def test_constants_are_those_torch_states(fmt: FloatFormat) -> None:
    known = torch.finfo(getattr(torch, fmt.name))
    assert (fmt.tiny, fmt.eps, fmt.max, fmt.min, fmt.bits) == (
        known.tiny,
        known.eps,
        known.max,
        known.min,
        known.bits,
    )
    half = torch.tensor(fmt.smallest_subnormal, dtype=torch.float64).to(getattr(torch, fmt.name)).double()
    assert half.item() == fmt.smallest_subnormal
    assert round_to(fmt.smallest_subnormal * 0.49, fmt) == 0


@EACH
@given(value=st.floats(allow_nan=False))
def test_rounding_is_idempotent_and_odd(fmt: FloatFormat, value: float) -> None:
    rounded = round_to(value, fmt)
    assert round_to(rounded, fmt) == rounded
    assert round_to(-value, fmt) == -rounded


@pytest.mark.parametrize("name", FORMATS)
@given(value=st.floats(width=32, allow_nan=False))
def test_rounding_agrees_with_torch_from_float32(name: str, value: float) -> None:
    expected = torch.tensor(value, dtype=torch.float32).to(getattr(torch, name)).double().item()
    assert round_to(value, FORMATS[name]) == expected


def test_ties_go_to_even_and_overflow_to_infinity() -> None:
    assert round_to(1 + FLOAT16.eps / 2, FLOAT16) == 1
    assert round_to(1 + FLOAT16.eps * 1.5, FLOAT16) == 1 + 2 * FLOAT16.eps
    assert round_to(65519.0, FLOAT16) == 65504
    assert round_to(-65520.0, FLOAT16) == -math.inf
    assert round_to(1e39, FLOAT32) == math.inf
    assert round_to(1e39, FORMATS["bfloat16"]) == math.inf
    assert math.isnan(round_to(math.nan, FLOAT32))
