"""What an operation makes of its operands: range, dtype, and how well founded the critical points are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stablelint.analysis.values.relations.results import gathered_sum, of_cholesky, related, triangle_cut
from stablelint.analysis.values.relations.wholes import within_whole
from stablelint.analysis.values.sorts import is_integral, is_one_number
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.numerics.formats import FLOAT32, FLOAT64, FORMATS, INTEGERS, FloatFormat
from stablelint.numerics.interval import BOOLEAN, COUNT, NONNEGATIVE, TOP, Interval
from stablelint.numerics.ranges import range_of
from stablelint.syntax.operations import CASTS, CUTS, SELECTIONS, VIEWS, having

_GUARDS = {
    "clamp": "clamp",
    "maximum": "clamp",
    "softplus": "softplus",
    "where": "where",
    "masked_fill": "masked_fill",
    "normalize": "normalize",
}

_SHORT = frozenset({"uint8", "int8", "int16"})  # no data comes near the ends of the others
_ADDING = frozenset({"scatter_add", "index_add"})
_GATHERED = frozenset("sum mean amin amax".split())  # what a reduction by an index may make of numbers
_MULTIPLYING = frozenset({"mul", "pow"})
_LEAVING = _MULTIPLYING | {"add", "sub", "neg", "abs", "matmul", "clamp"}
ROUNDED = {"int": "trunc", "round": "round"}  # what Python's own functions do
_PROMOTING = having("promote")  # a tensor of doubles makes doubles with any other
_OF_ONE_TYPE = having("product")  # a tensor of doubles is multiplied with such alone, under autocast, too
_FLOATING = having("floating", "real")
_TRAINED = having("trained")
_ELEMENTWISE = having("elementwise")
_LONG = having("long")
_SIGNED = ("int8", "int16", "int32", "int64")
_EXPONENTIAL = having("exponential")
# What is real of complex numbers.
_REAL = having("compare", "finite-test", "logic", "size", "norm", "real-part")
# Of results whose type is that of no operand.
_DTYPES = {
    **dict.fromkeys(having("compare", "finite-test", "truth") | {"bool", "logical_not"}, "bool"),
    **dict.fromkeys("complex as_complex cfloat eig eigvals fft".split(), "complex64"),
    **dict.fromkeys(
        "argmax argmin argsort randint bincount count_nonzero nonzero multinomial".split(), "int64"
    ),
    **CASTS,
    **CUTS,
}


def is_complex(value: Value) -> bool:
    """Whether a value is known to hold complex numbers, of which no interval tells: their squares may be -1."""
    return value.dtype is not None and value.dtype.startswith("complex")


def _promoted_integer(types: Sequence[str]) -> str | None:
    """The type of whole numbers that several lead to: the widest, and one that is signed where one of them is."""
    signed = sorted((d for d in types if d in _SIGNED), key=_SIGNED.index)
    if not signed or len(signed) == len(types):
        return signed[-1] if signed else types[0] if len(set(types)) == 1 else None
    return max(signed[-1], "int16", key=_SIGNED.index) if set(types) <= {*_SIGNED, "uint8"} else None


def _hold_complex(values: Iterable[Value]) -> bool:
    for value in values:
        if value.kind is Kind.SEQUENCE:
            if any(map(is_complex, value.data)):
                return True
        elif value.dtype is not None and is_complex(value):  # few have one
            return True
    return False


def format_of(value: Value) -> FloatFormat:
    """The float format of a value; float32 where unknown, float64 for Python numbers."""
    if value.dtype is not None and value.dtype in FORMATS:
        return FORMATS[value.dtype]
    return FLOAT64 if value.kind is Kind.NUMBER else FLOAT32


def result_interval(
    op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval], fmt: FloatFormat
) -> Interval:
    """Where the result lies, given where the operands lie."""
    if op not in _REAL and _hold_complex(operands.values()):
        return TOP
    if op == "index":
        found = gathered_sum(operands)
        if found is not None:
            return found
    if op == "diagonal":
        matrix = triangle_cut(operands)
        return of_cholesky(operands) or (matrix.interval if matrix is not None else ranges["input"])
    if op == "diag" and (factor := of_cholesky(operands)) is not None:
        return factor
    if op in VIEWS or op in SELECTIONS or op in ("index", "identity", "item"):
        first = next(iter(ranges.values()), TOP)
        if "rounded" in operands and first != TOP:
            return range_of(ROUNDED[operands["rounded"].data], [first], {}, fmt) or TOP
        return held_in(CASTS[op], first) if op in CASTS else first
    if op == "fill_diagonal_" and "value" in ranges:
        return ranges["input"].join(ranges["value"])
    if op == "scatter_sum":
        summed = COUNT if ranges["src"].integral else NONNEGATIVE
        return summed if ranges["src"].lo >= 0 else TOP
    if op in ("scatter", "scatter_add", "index_add", "scatter_reduce"):
        return _scattered(op, operands, ranges)
    special = related(op, operands, ranges)
    if special is not None:
        return special
    values, params = _split(op, operands, ranges)
    if op == "div" and "other" in operands:
        values = [ranges["input"], _benign_divisor(operands["other"], ranges["other"])]
    found = range_of(op, values, params, fmt)
    if found is None:
        return TOP
    if op == "div" and operands.keys() == {"input", "other"}:
        return within_whole(operands, found)
    target = ranges.get("target")
    if op == "cross_entropy" and target is not None and not (target.integral or target.lo >= 0):
        return TOP.with_nan(found.nan)  # of numbers that may be neither classes nor chances
    overflow = op in _EXPONENTIAL and not found.hi_open and found.hi == math.inf
    if (
        overflow
        and found.lo < math.inf
        and operands["input"].ends < Attained.SATURATION
        and not ranges["input"].nan
    ):
        return Interval(found.lo, math.inf, found.lo_open, True)
    return found


def held_in(dtype: str | None, interval: Interval) -> Interval:
    """Where numbers of `interval` lie once an element type holds them: rounded to it, or cut to whole numbers.

    Positive numbers that are 0 in float16 are common in other types.
    """
    if dtype in FORMATS:
        return interval.rounded(FORMATS[dtype], underflow=FORMATS[dtype].is_narrow)
    if dtype == "bool":
        return interval.meet(BOOLEAN) or BOOLEAN
    if dtype not in INTEGERS:
        return interval
    cut = range_of("long", [interval], {}, FLOAT32) or TOP
    least, greatest = INTEGERS[dtype] if dtype in _SHORT else (-math.inf, math.inf)
    return cut if least <= cut.lo and cut.hi <= greatest else Interval(least, greatest, integral=True)


def wraps(op: str, dtype: str | None, interval: Interval) -> bool:
    """Whether a computation of whole numbers may leave their type, whose other end follows then."""
    if op not in _LEAVING or dtype not in INTEGERS or interval == TOP:
        return False
    least, greatest = INTEGERS[dtype]
    if least <= interval.lo and interval.hi <= greatest:
        return False
    # What is not known to leave does not come to the ends of its type, but for powers.
    known = interval.is_bounded or interval.lo > greatest or interval.hi < least
    return known or dtype in _SHORT or op == "pow" or (dtype == "int32" and op in _MULTIPLYING)


def _benign_divisor(divisor: Value, interval: Interval) -> Interval:
    """The divisor's range without a 0 that nothing but coincidence reaches: an unknown is not assumed bad twice."""
    if divisor.zero >= Attained.SATURATION or not interval.contains(0.0):
        return interval
    return interval.without_zero() or interval


def _split(
    op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]
) -> tuple[list[Interval], dict[str, Any]]:
    """Operands that are numbers or tensors as intervals in order, the others as named parameters."""
    values: list[Interval] = []
    params: dict[str, Any] = {}
    for name, value in operands.items():
        if name in _OPERAND_NAMES.get(op, _DATA):
            values.append(ranges[name])
        elif value.kind is Kind.SEQUENCE and name in ("tensors", "data", "input"):
            values.extend(ranges.get(f"{name}.{i}", e.interval) for i, e in enumerate(value.data))
        elif value.is_constant and not value.assumed:
            params[name] = value.data
        else:
            params[name] = ranges[name] if value.kind is not Kind.SEQUENCE else None
    return values, params


_DATA = frozenset(
    (
        "input other exponent end weight tensor1 tensor2 x1 x2 target data fill_value mean std condition mask "
        "src source query key start low high"
    ).split()
)
_OPERAND_NAMES: dict[str, frozenset[str]] = {
    "where": frozenset({"condition", "input", "other"}),
    "masked_fill": frozenset({"input", "mask", "value"}),
    "clamp": frozenset({"input"}),
    "linear": frozenset({"input"}),
    "embedding": frozenset({"weight"}),
    "softmax": frozenset({"input"}),
    "log_softmax": frozenset({"input"}),
    **dict.fromkeys(having("loss"), frozenset({"input", "target", "var"})),
}


def _scattered(op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Interval:
    """What is put, or added up, where an index says; of what is multiplied, and of what is added `alpha` times, nothing."""
    base, source = ranges.get("input", TOP), ranges.get("src", ranges.get("source", TOP))
    reduce = operands["reduce"].constant() if "reduce" in operands else "sum" if op in _ADDING else None
    if "alpha" in operands or ("reduce" in operands and reduce not in _GATHERED):
        return TOP
    if reduce == "sum" and math.inf > base.lo >= 0 and source.lo >= 0:
        counts = base.integral and source.integral
        return Interval(base.lo, math.inf, lo_open=base.lo_open, hi_open=True, integral=counts)
    return base.join(source) if reduce != "sum" else TOP


def guard_of(op: str, operands: Mapping[str, Value], interval: Interval) -> str | None:
    """The guard that an operation puts on its result, or passes on from its operand."""
    if op in _GUARDS:
        return _GUARDS[op]
    if op == "add" and interval.lo > 0:
        return "eps"
    first = next(iter(operands.values()), None)
    inherits = (
        op in VIEWS or op in SELECTIONS or op in ("sum", "mean", "mul", "div", "sqrt", "index", "pow", "amax")
    )
    return first.guard if first is not None and inherits else None


def _deciding(tensors: list[Value]) -> list[Value]:
    """The tensors whose types decide on that of the result: of one number only where none of more is of its sort."""
    larger = [v for v in tensors if not is_one_number(v)]
    of_floats = any(v.dtype in FORMATS for v in larger)
    of_integers = any(v.dtype in INTEGERS for v in larger)
    if not (of_floats or of_integers):
        return tensors
    return [v for v in tensors if v in larger or not (of_floats or (v.dtype in INTEGERS and of_integers))]


def promoted_dtype(op: str, operands: Sequence[Value], default: str | None) -> str | None:
    """Element type of the result, where it is known; `default` is that of functions of whole numbers."""
    fixed = _DTYPES.get(op)
    if fixed is not None:
        return fixed
    if _hold_complex(operands):
        return None if op in _REAL else "complex64"
    given = [v for v in operands if v.kind in (Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN)]
    if op in _ELEMENTWISE and len({v.dtype for v in given}) > 1:
        given = _deciding(given)
    tensors = [v.dtype for v in given]
    if None in tensors or not tensors:
        doubles = any(v.dtype == "float64" and not is_one_number(v) for v in given)
        double = doubles and (op in _PROMOTING or op in _OF_ONE_TYPE)
        return "float64" if double else None
    floats = {d for d in tensors if d in FORMATS}
    if len(floats) == 1:
        return floats.pop()
    if len(floats) > 1:
        return "float32" if floats != {"float64"} and "float64" not in floats else "float64"
    if op in _TRAINED:
        return None  # that of the weights
    if op in _FLOATING:
        return default or "float32"
    if op in _LONG:
        return "int64"
    whole = _promoted_integer([d for d in tensors if d is not None and d != "bool"])
    if whole is not None:
        fractions = (v for v in operands if v.kind is Kind.NUMBER and not is_integral(v))
        return None if op in _PROMOTING and any(fractions) else whole
    if any(d != "bool" for d in tensors):
        return None
    if op in _PROMOTING and any(v.kind is Kind.NUMBER for v in operands):
        return None  # a truth value and a number make a number of that sort
    return "bool"
