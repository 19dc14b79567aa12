"""The binary floating-point formats of tensors, and rounding of a Python float to each.

Constants follow IEEE 754-2019 (binary16, binary32, binary64); bfloat16 is binary32 cut to 8 significant bits.
"""

from __future__ import annotations

import math
import struct

from stablelint.records import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A floating-point format with gradual underflow.

    `tiny` is the smallest positive normal number, `eps` the distance from 1 to the next number above it,
    `max` the largest finite number; the names are those of `torch.finfo`.
    """

    name: str
    bits: int
    tiny: float
    smallest_subnormal: float
    eps: float
    max: float

    @property
    def resolution(self) -> float:
        """One unit of the last decimal digit that the format keeps of numbers near 1, `10**-precision`."""
        return float(10.0 ** -math.floor(-math.log10(self.eps)))

    @property
    def minute(self) -> float:
        """The largest factor that takes a number as small as itself to 0."""
        return math.sqrt(self.smallest_subnormal)

    @property
    def is_narrow(self) -> bool:
        """Whether numbers that are 0 in it, and squares of what it holds, are common: so of float16."""
        return self.minute > 1e-9

    @property
    def min(self) -> float:
        """The lowest finite number, `-max`."""
        return -self.max


FLOAT16 = FloatFormat("float16", 16, 2.0**-14, 2.0**-24, 2.0**-10, 65504.0)
BFLOAT16 = FloatFormat("bfloat16", 16, 2.0**-126, 2.0**-133, 2.0**-7, (2.0 - 2.0**-7) * 2.0**127)
FLOAT32 = FloatFormat("float32", 32, 2.0**-126, 2.0**-149, 2.0**-23, (2.0 - 2.0**-23) * 2.0**127)
FLOAT64 = FloatFormat("float64", 64, 2.0**-1022, 5e-324, 2.0**-52, (2.0 - 2.0**-52) * 2.0**1023)

FORMATS: dict[str, FloatFormat] = {each.name: each for each in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)}
DTYPES = tuple(FORMATS)
"""The names of the formats, as torch has them."""

# The least and the greatest number of each type of whole numbers; what is beyond wraps around.
INTEGERS: dict[str, tuple[float, float]] = {
    "uint8": (0.0, 255.0),
    **{f"int{bits}": (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
}

_STRUCT_CODES = {"float16": "<e", "float32": "<f"}


def round_to(value: float, fmt: FloatFormat) -> float:
    """`value` rounded to the nearest number of `fmt`, ties to even; overflows to an infinity, keeps NaN."""
    if fmt.bits == 64 or value == 0 or not math.isfinite(value):
        return value
    code = _STRUCT_CODES.get(fmt.name)
    if code is None:
        return _round_by_quantum(value, fmt)
    try:
        rounded: float = struct.unpack(code, struct.pack(code, float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _round_by_quantum(value: float, fmt: FloatFormat) -> float:
    """Round to a multiple of the spacing of `fmt` around `value`, a power of two: the scaling is exact."""
    exponent = math.frexp(value)[1] - 1
    quantum = max(math.ldexp(fmt.eps, exponent), fmt.smallest_subnormal)
    rounded = round(value / quantum) * quantum
    if abs(rounded) > fmt.max:
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)
