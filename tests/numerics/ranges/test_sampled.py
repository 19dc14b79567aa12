"""Every entry of the tables, sampled: torch's result for members of the operands is a member of the range."""

from __future__ import annotations

import math
import random
import zlib

import pytest
import torch

from stablelint.numerics.formats import FORMATS, FloatFormat
from stablelint.numerics.interval import (
    BOOLEAN,
    COUNT,
    NONNEGATIVE,
    POSITIVE,
    SIGNED_UNIT,
    TOP,
    UNIT,
    Interval,
)
from stablelint.numerics.ranges import canonical, range_of
from tests.numerics.ranges.cases import CASES, Case
from tests.numerics.sampling import holds, members

torch.set_num_threads(1)
INF = math.inf
NAMED = [
    TOP,
    UNIT,
    SIGNED_UNIT,
    POSITIVE,
    NONNEGATIVE,
    BOOLEAN,
    COUNT,
    Interval(-INF, INF, lo_open=True, hi_open=True, nonzero=True),
    Interval(-INF, 0, lo_open=True),
    Interval(1, INF, lo_open=True, hi_open=True),
    Interval(0, 1, lo_open=True, hi_open=True),
    Interval(-INF, INF),
    Interval(0, INF),
    Interval(-INF, 0),
    Interval.point(0.0),
    Interval.point(1.0),
    Interval.point(-1.0),
    Interval.point(INF),
    Interval(-200, 100),
    Interval(-3, -0.25),
    Interval(0.125, 0.5, lo_open=True),
]


def operand_ranges(case: Case, chance: random.Random) -> list[tuple[Interval, ...]]:
    pool = NAMED + [_random_interval(chance) for _ in range(8)]
    if case.within is not None:
        bound = Interval(*case.within)
        pool = [met for each in pool if (met := each.meet(bound)) is not None]
    if case.arity == 1:
        return [(each,) for each in pool]
    return [tuple(chance.choice(pool) for _ in range(case.arity)) for _ in range(30)]


def _random_interval(chance: random.Random) -> Interval:
    lo, hi = sorted(chance.randint(-96, 96) / 16 for _ in range(2))
    if lo == hi:
        return Interval.point(lo)
    return Interval(lo, hi, lo_open=chance.random() < 0.3, hi_open=chance.random() < 0.3)


def results(case: Case, tensors: list[torch.Tensor]) -> list[float]:
    """What torch computes, flat; nothing where it has no kernel for a narrow dtype."""
    try:
        out = case.call(*tensors)
    except (RuntimeError, NotImplementedError) as error:
        if tensors[0].dtype == torch.float32 or "not implemented for" not in str(error):
            raise
        return []
    return [float(value) for value in out.flatten().tolist()]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("label", CASES)
def test_the_range_holds_what_torch_computes(label: str, dtype: str) -> None:
    case, fmt = CASES[label], FORMATS[dtype]
    operation = label.split(" ")[0]
    chance = random.Random(zlib.crc32(label.encode()))
    torch.manual_seed(0)
    for operands in operand_ranges(case, chance):
        rounded = tuple(each.rounded(fmt) for each in operands)
        tensors = [torch.tensor(members(each, fmt, chance), dtype=getattr(torch, dtype)) for each in rounded]
        if case.rows:
            tensors = [each.reshape(4, 4) for each in tensors]
        found = range_of(operation, rounded, case.params, fmt)
        assert found is not None, operation
        for value in results(case, tensors):
            message = f"{label} of {', '.join(map(str, rounded))}: {value} in {found}"
            assert_holds(found, value, fmt, case, message)


def assert_holds(found: Interval, value: float, fmt: FloatFormat, case: Case, message: str) -> None:
    claimed = case.closure and value in (found.lo, found.hi)
    assert claimed or holds(found, value, fmt, case.ulps), message


def test_over_a_hundred_operations_are_sampled() -> None:
    assert len({canonical(label.split(" ")[0]) for label in CASES}) > 130
