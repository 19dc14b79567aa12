"""torch's results for members of the operands' ranges, and for extreme operands at every length of a kernel.

What torch computes depends on the kernel: a vector's body and the rest behind it, the instruction set that ATen
and oneDNN chose. As a program it prints the failures of the process it runs in, for `test_kernels` to start it
under each instruction set: `python -m tests.numerics.ranges.sampled`.
"""

import math
import random
import zlib
from collections.abc import Iterator

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
from stablelint.numerics.ranges import range_of
from tests.numerics.ranges.cases import CASES, Case
from tests.numerics.sampling import holds, members

INF = math.inf
DTYPES = ("float16", "bfloat16", "float32")
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
    Interval(-95, -4),
    Interval(-3, -0.25),
    Interval(0.125, 0.5, lo_open=True),
]
# Below a vector of any kernel, one of 16 numbers, and four with a rest behind them.
LENGTHS = (1, 5, 16, 67)


def sampled_failures(label: str, dtype: str) -> Iterator[str]:
    """Results that are no member of the range, for members of many operand ranges."""
    case, fmt = CASES[label], FORMATS[dtype]
    chance = random.Random(zlib.crc32(label.encode()))
    torch.manual_seed(0)
    for operands in _operand_ranges(case, chance):
        rounded = tuple(each.rounded(fmt) for each in operands)
        tensors = [torch.tensor(members(each, fmt, chance), dtype=getattr(torch, dtype)) for each in rounded]
        if case.rows:
            tensors = [each.reshape(4, 4) for each in tensors]
        yield from _failures(label, rounded, tensors, fmt)


def extreme_failures(label: str, dtype: str) -> Iterator[str]:
    """Results that are no member of the range of a single extreme number, repeated to each of `LENGTHS`."""
    case, fmt = CASES[label], FORMATS[dtype]
    for value in (
        INF,
        -INF,
        fmt.max,
        -fmt.max,
        fmt.tiny,
        -fmt.tiny,
        fmt.smallest_subnormal,
        0.0,
        88.0,
        -88.0,
    ):
        operand = Interval.point(value)
        if case.within is not None and operand.meet(Interval(*case.within)) is None:
            continue
        for length in LENGTHS:
            yield from _failures(
                label, (operand,), [torch.full((length,), value, dtype=getattr(torch, dtype))], fmt
            )


def elementwise_labels() -> list[str]:
    """The cases that map a number to a number."""
    return [label for label, case in CASES.items() if _is_elementwise(case)]


def _is_elementwise(case: Case) -> bool:
    if case.arity != 1 or case.rows:
        return False
    try:
        return case.call(torch.ones(3)).shape == (3,)
    except RuntimeError:
        return False


def _operand_ranges(case: Case, chance: random.Random) -> list[tuple[Interval, ...]]:
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


def _failures(
    label: str, operands: tuple[Interval, ...], tensors: list[torch.Tensor], fmt: FloatFormat
) -> Iterator[str]:
    case = CASES[label]
    found = range_of(label.split(" ")[0], operands, case.params, fmt)
    if found is None:
        yield f"{label}: no range"
        return
    for value in _results(case, tensors):
        claimed = case.closure and value in (found.lo, found.hi)
        if not (claimed or holds(found, value, fmt, case.ulps)):
            named = ", ".join(map(str, operands))
            yield f"{label} of {named} in {fmt.name}, {len(tensors[0])} long: {value} in {found}"


def _results(case: Case, tensors: list[torch.Tensor]) -> list[float]:
    """What torch computes, each value once; nothing where it has no kernel for a narrow dtype."""
    try:
        out = case.call(*tensors)
    except (RuntimeError, NotImplementedError) as error:
        if tensors[0].dtype == torch.float32 or "not implemented for" not in str(error):
            raise
        return []
    return list({str(value): float(value) for value in out.flatten().tolist()}.values())


def main() -> None:
    torch.set_num_threads(1)
    print(torch.backends.cpu.get_cpu_capability())
    for dtype in DTYPES:
        for label in CASES:
            for failure in sampled_failures(label, dtype):
                print(failure)
        for label in elementwise_labels():
            for failure in extreme_failures(label, dtype):
                print(failure)


if __name__ == "__main__":
    main()
