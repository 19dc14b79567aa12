"""What an operation makes of its operands: range, dtype, and how well founded the critical points are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stablelint.analysis.value import Ground, Kind, Value
from stablelint.numerics.formats import FLOAT32, FLOAT64, FORMATS, FloatFormat
from stablelint.numerics.interval import TOP, Interval
from stablelint.numerics.ranges import range_of
from stablelint.syntax.operations import CASTS, SELECTIONS, VIEWS

_SATURATES = frozenset(
    "softmax softmin sigmoid gumbel_softmax hardsigmoid ndtr erf erfc softplus log_softmax logsigmoid log_ndtr".split()
)
_EXACT_ZERO = frozenset(
    "relu relu6 hardtanh norm vector_norm std var eq ne gt ge lt le logical_not logical_and logical_or isnan isinf "
    "isfinite isclose any all count_nonzero bincount histc one_hot zeros zeros_like rand rand_like bernoulli randint argmax "
    "argmin tril triu nonzero mse_loss l1_loss huber_loss smooth_l1_loss cdist arange eye multinomial randperm "
    "svdvals diag_embed contains".split()
)
_BOUNDED = frozenset("tanh sin cos cosine_similarity normalize atan atan2 randn randn_like hardswish".split())
_REDUCTIONS = frozenset("sum mean nanmean prod amax amin max min median quantile cumsum cumprod".split())
_ARITHMETIC = frozenset("add sub mul div".split())
_GUARDS = {
    "clamp": "clamp",
    "maximum": "clamp",
    "softplus": "softplus",
    "where": "where",
    "masked_fill": "masked_fill",
    "normalize": "normalize",
}


def format_of(value: Value) -> FloatFormat:
    """The float format of a value; float32 where unknown, float64 for Python numbers."""
    if value.dtype is not None and value.dtype in FORMATS:
        return FORMATS[value.dtype]
    return FLOAT64 if value.kind is Kind.NUMBER else FLOAT32


def result_interval(
    op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval], fmt: FloatFormat
) -> Interval:
    """Where the result lies, given where the operands lie."""
    if op == "index":
        found = _gathered_sum(operands)
        if found is not None:
            return found
    if op in VIEWS or op in SELECTIONS or op in ("index", "identity"):
        first = next(iter(ranges.values()), TOP)
        return first.rounded(FORMATS[CASTS[op]]) if op in CASTS else first
    if op == "scatter_sum":
        return Interval(0.0, math.inf, hi_open=True) if ranges["src"].lo >= 0 else TOP
    if op in ("scatter", "scatter_add", "index_add", "scatter_reduce"):
        return _scattered(op, ranges)
    special = _difference(op, operands, ranges) or _peaked(op, operands, ranges) or _squared(op, operands, ranges)
    if special is not None:
        return special
    values, params = _split(op, operands, ranges)
    if op == "div" and "other" in operands:
        values = [ranges["input"], _benign_divisor(operands["other"], ranges["other"])]
    found = range_of(op, values, params, fmt)
    if found is None:
        return TOP
    overflow = op in ("exp", "exp2", "expm1", "cosh", "sinh") and not found.hi_open and found.hi == math.inf
    if overflow and found.lo < math.inf and operands["input"].ends < Ground.SATURATION and not ranges["input"].nan:
        return Interval(found.lo, math.inf, found.lo_open, True)
    return found


def _benign_divisor(divisor: Value, interval: Interval) -> Interval:
    """The divisor's range without a 0 that nothing but coincidence reaches: an unknown is not assumed bad twice."""
    if divisor.zero >= Ground.SATURATION or not interval.contains(0.0):
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
        elif value.is_constant:
            params[name] = value.data
        elif name in ("min", "max", "dim", "p", "ord", "value", "beta", "nan"):
            params[name] = ranges[name] if value.kind is not Kind.SEQUENCE else None
    return values, params


_DATA = frozenset(
    "input other exponent end weight tensor1 tensor2 x1 x2 target data fill_value mean std condition mask src source "
    "query key start low high".split()
)
_OPERAND_NAMES: dict[str, frozenset[str]] = {
    "where": frozenset({"condition", "input", "other"}),
    "masked_fill": frozenset({"input", "mask", "value"}),
    "clamp": frozenset({"input"}),
    "linear": frozenset({"input"}),
    "softmax": frozenset({"input"}),
    "log_softmax": frozenset({"input"}),
    "cross_entropy": frozenset({"input", "target"}),
    "nll_loss": frozenset({"input", "target"}),
    "binary_cross_entropy": frozenset({"input", "target"}),
    "binary_cross_entropy_with_logits": frozenset({"input", "target"}),
}


def _scattered(op: str, ranges: Mapping[str, Interval]) -> Interval:
    base = ranges.get("input", TOP)
    source = ranges.get("src", ranges.get("source", TOP))
    if op in ("scatter_add", "index_add", "scatter_reduce") and math.inf > base.lo >= 0 and source.lo >= 0:
        return Interval(base.lo, math.inf, lo_open=base.lo_open, hi_open=True)
    return base.join(source)


def _difference(op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Interval | None:
    """`x - max(x)` is at most 0, `x - min(x)` at least 0, `max(x) - min(x)` at least 0."""
    if op != "sub" or not {"input", "other"} <= operands.keys():
        return None
    left, right = stripped(operands["input"]), stripped(operands["other"])
    if left.key == right.key:
        return Interval.point(0.0)
    top, bottom = _extreme_of(right, "amax") or _group_maximum(right), _extreme_of(right, "amin")
    finite = Interval(-math.inf, 0.0, lo_open=True)
    if top is not None and top.key == left.key:
        return finite
    left_top = _extreme_of(left, "amax")
    if bottom is not None and (
        bottom.key == left.key or (left_top is not None and left_top.key == bottom.key)
    ):
        return Interval(0.0, math.inf, hi_open=True)
    return None


def _group_maximum(value: Value) -> Value | None:
    """The operand of a grouped maximum that was gathered back: `full(-inf).scatter_reduce(x, "amax")[index]`."""
    if value.op != "index" or value.first is None:
        return None
    grouped = stripped(value.first)
    reduce = grouped.operands.get("reduce")
    source = grouped.operands.get("src")
    is_maximum = reduce is not None and reduce.constant() in ("amax", "max")
    return stripped(source) if grouped.op == "scatter_reduce" and is_maximum and source is not None else None


def _gathered_sum(operands: Mapping[str, Value]) -> Interval | None:
    """The sum of a group that holds an element: at least the end that one of its elements attains."""
    grouped = stripped(operands["input"])
    source = grouped.operands.get("src") or grouped.operands.get("source")
    if grouped.op not in ("scatter_add", "index_add", "scatter_sum") or source is None or not source.peak:
        return None
    if source.interval.lo < 0 or not math.isfinite(source.interval.hi):
        return None
    return Interval(source.interval.hi, math.inf, hi_open=True)


def _squared(op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Interval | None:
    """`x * x` is at least 0; `x * (x > 0)` lies where the test holds, or is 0."""
    if op != "mul" or "other" not in operands:
        return None
    left, right = operands["input"], operands["other"]
    if stripped(left).key == stripped(right).key:
        return Interval(0.0, math.inf, hi_open=True) if ranges["input"].contains(0.0) else None
    for value, test, name in ((left, stripped(right), "input"), (right, stripped(left), "other")):
        subject = test.operands.get("input")
        bound = test.operands.get("other")
        if test.op in ("gt", "ge", "lt", "le") and subject is not None and bound is not None and bound.is_constant:
            if stripped(subject).key != stripped(value).key:
                continue
            limit = bound.interval.lo
            kept = Interval(limit, math.inf) if test.op in ("gt", "ge") else Interval(-math.inf, limit)
            inside = ranges[name].meet(kept)
            return inside.join(Interval.point(0.0)) if inside is not None else Interval.point(0.0)
    return None


def _unit_length(value: Value) -> bool:
    """Whether a vector is one of an orthonormal set, or normalised."""
    while value.first is not None and (value.op in VIEWS or value.op in SELECTIONS or value.op in ("index", "part")):
        value = value.first
    return value.op in ("eigenvectors", "normalize")


def _extreme_of(value: Value, op: str) -> Value | None:
    if value.op == op:
        return stripped(value.operands["input"])
    if value.op in (
        "where",
        "masked_fill",
        "clamp",
        "nan_to_num",
        "maximum",
    ):  # a shift made finite for empty rows
        inner = [_extreme_of(stripped(v), op) for v in value.operands.values()]
        return next((v for v in inner if v is not None), None)
    return None


def _peaked(op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Interval | None:
    """A sum of nonnegative elements, one of which attains the upper end, is at least that end."""
    if op not in ("sum", "logsumexp"):
        return None
    operand = operands.get("input")
    if operand is None or not operand.peak:
        return None
    interval = ranges["input"]
    if op == "sum" and interval.lo >= 0 and math.isfinite(interval.hi):
        return Interval(interval.hi, math.inf, hi_open=True)
    return None


def peaks(op: str, operands: Mapping[str, Value]) -> bool:
    """Whether some element of each row of the result attains the upper end of its interval."""
    first = next(iter(operands.values()), None)
    if op == "sub" and {"input", "other"} <= operands.keys():
        left, right = stripped(operands["input"]), stripped(operands["other"])
        top = _extreme_of(right, "amax") or _group_maximum(right)
        return top is not None and top.key == left.key
    if first is None or not first.peak:
        return False
    if op in ("exp", "exp2", "sigmoid", "softplus") or op in VIEWS:
        return True
    if op in ("mul", "div"):
        other = operands.get("other")
        return other is not None and other.interval.lo > 0
    return False


def stripped(value: Value) -> Value:
    """The value without rearrangements and casts around it."""
    while value.op in VIEWS and value.first is not None:
        value = value.first
    return value


def grounds(op: str, operands: Mapping[str, Value], interval: Interval) -> tuple[Ground, Ground]:
    """How well founded it is that the result is 0 somewhere, and that it comes to its interval's ends."""
    first = next(iter(operands.values()), None)
    if first is None:
        exact = op in _EXACT_ZERO
        return (
            Ground.EXACT if exact else Ground.NONE
        ), Ground.EXACT if op in _BOUNDED or exact else Ground.NONE
    if op in VIEWS or op in SELECTIONS or op in ("index", "neg", "sqrt", "sign", "floor", "trunc", "cumsum"):
        return first.zero, first.ends
    if op == "norm" and _unit_length(first):
        return Ground.NONE, first.ends
    if op in _SATURATES:
        return Ground.SATURATION, Ground.SATURATION
    if op in _EXACT_ZERO:
        return Ground.EXACT, Ground.EXACT if interval.is_bounded else first.ends
    if op in _BOUNDED:
        return Ground.COINCIDENCE, Ground.EXACT
    if op in ("abs", "pow"):
        floor = Ground.COINCIDENCE if interval.contains(0.0) else Ground.NONE
        return max(first.zero, floor), first.ends
    if op in _REDUCTIONS:
        return _reduced(op, first)
    if op in _ARITHMETIC and "other" in operands:
        return _combined(op, first, operands["other"], interval)
    if op in ("exp", "exp2"):
        return (Ground.SATURATION if first.peak or first.ends >= Ground.SATURATION else Ground.COINCIDENCE), first.ends
    if op in ("expm1", "cosh", "sinh"):
        return Ground.COINCIDENCE, first.ends
    if op == "matmul" and "other" in operands and Ground.EXACT in (first.zero, operands["other"].zero):
        rows = max(_row_of_zeros(v) for v in (first, operands["other"]))
        return rows, min(first.ends, operands["other"].ends)
    if op == "matmul" and "other" in operands and interval.lo >= 0:
        return min(first.zero, operands["other"].zero), min(first.ends, operands["other"].ends)
    if op in ("clamp", "maximum", "minimum"):
        return _clamped(operands, interval)
    if op in ("where", "masked_fill"):
        return _selected(op, operands)
    if op == "linear_module":
        return Ground.COINCIDENCE, Ground.EXACT
    if op in ("linear", "conv1d", "conv2d", "conv3d"):  # the weight may be a fixed filter
        return Ground.COINCIDENCE, Ground.NONE
    if op == "scatter_sum":
        return (Ground.EXACT if interval.lo == 0 else Ground.NONE), first.ends  # a group without an element
    if op in ("index_add", "scatter_add", "scatter_reduce", "scatter"):
        source = operands.get("src") or operands.get("source") or first
        return min(first.zero, Ground.EXACT), source.ends
    if op in ("stft", "fft"):
        return Ground.EXACT, Ground.NONE  # silence
    if op in ("log", "log2", "log10", "log1p") and interval.lo == 0.0:
        return _zero_of_logarithm(op, first), first.ends
    if op in ("log", "log2", "log10", "log1p"):
        return Ground.COINCIDENCE, max(first.zero, first.ends)
    ends = [v.ends for v in operands.values() if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    zero = Ground.COINCIDENCE if interval.contains(0.0) and interval != TOP else Ground.NONE
    return zero, min(ends, default=Ground.NONE)


def _zero_of_logarithm(op: str, operand: Value) -> Ground:
    """`log(1 + n)` is 0 where n is."""
    if op == "log1p":
        return operand.zero
    terms = [v for v in stripped(operand).operands.values() if not v.is_constant]
    return terms[0].zero if stripped(operand).op == "add" and len(terms) == 1 else Ground.COINCIDENCE


def _reduced(op: str, operand: Value) -> tuple[Ground, Ground]:
    if op in ("amax", "max") and stripped(operand).op == "abs":
        return Ground.EXACT, operand.ends  # the maximum norm
    if op == "sum" and operand.zero is Ground.SATURATION and _underflows_together(operand):
        return Ground.SATURATION, operand.ends
    zero = operand.zero if op in ("amin", "min", "prod", "median") else _row_of_zeros(operand)
    if zero is Ground.EXACT or op in ("amax", "amin", "max", "min", "median", "prod"):
        return zero, operand.ends
    return min(zero, Ground.COINCIDENCE), operand.ends


def _underflows_together(value: Value, depth: int = 6) -> bool:
    """Whether all elements of a row can underflow at once: exponentials whose maximum was not taken out."""
    inner = stripped(value)
    if inner.op in ("exp", "exp2"):
        return not inner.peak and not inner.operands["input"].peak
    if depth == 0 or inner.op not in ("mul", "div", "index"):
        return False
    return any(_underflows_together(v, depth - 1) for v in inner.operands.values())


def _row_of_zeros(operand: Value, depth: int = 8) -> Ground:
    """How well founded it is that all elements of a row are 0: the zeros of one branch do not fill it."""
    inner = stripped(operand)
    if depth == 0 or operand.zero < Ground.SATURATION:
        return operand.zero
    parts = [_row_of_zeros(v, depth - 1) for n, v in inner.operands.items() if n not in ("condition", "mask")]
    if inner.op in ("where", "phi", "cat", "stack", "overwritten", "masked_fill") and parts:
        return min(operand.zero, *parts)
    if inner.op in ("tensor", "arange", "eye", "linspace"):
        return Ground.COINCIDENCE
    if inner.op == "mul" and len(parts) == 2:
        return min(operand.zero, max(parts))
    if inner.op in ("div", "neg", "pow", "index", "sqrt", "sum", "mean") and parts:
        return min(operand.zero, parts[0])
    return operand.zero


def _combined(op: str, a: Value, b: Value, interval: Interval) -> tuple[Ground, Ground]:
    ends = min(a.ends, b.ends)
    if op == "mul":
        return max(a.zero, b.zero), ends
    if op == "div":
        return a.zero, ends
    if interval.lo < 0.0 < interval.hi and _one_sided(a) and _one_sided(b) and not (a.is_constant or b.is_constant):
        ends = min(ends, Ground.COINCIDENCE)  # a difference of two sizes changes sign only by their values
    if not interval.contains(0.0):
        return Ground.NONE, ends
    if a.key == b.key and op == "sub":
        return Ground.EXACT, Ground.EXACT
    if interval == TOP or (math.isinf(interval.lo) and math.isinf(interval.hi)):
        return Ground.NONE, ends
    if op == "add" and a.interval.lo >= 0 and b.interval.lo >= 0:
        return min(a.zero, b.zero), ends
    if op == "sub" and math.isfinite(a.interval.hi) and a.is_constant:
        return b.ends, ends
    if op == "sub" and _difference(op, {"input": a, "other": b}, {}) is not None:
        return Ground.EXACT, max(ends, Ground.COINCIDENCE)
    if interval.lo == 0.0 or interval.hi == 0.0:
        return ends, ends
    return min(Ground.COINCIDENCE, ends), ends


def _one_sided(value: Value) -> bool:
    return value.interval.lo >= 0 or value.interval.hi <= 0


def _clamped(operands: Mapping[str, Value], interval: Interval) -> tuple[Ground, Ground]:
    bounds = [v for name, v in operands.items() if name in ("min", "max", "other")]
    known = [v for v in bounds if v.interval.is_bounded]
    if not interval.contains(0.0):
        return Ground.NONE, _clamped_ends(operands, interval)
    if any(v.interval.contains(0.0) for v in known):
        return Ground.EXACT, _clamped_ends(operands, interval)
    first = next(iter(operands.values()))
    return first.zero, _clamped_ends(operands, interval)


def _clamped_ends(operands: Mapping[str, Value], interval: Interval) -> Ground:
    """Clamping on both sides is reached on both; a free side is reached as the operand reaches it."""
    return Ground.EXACT if interval.is_bounded else next(iter(operands.values())).ends


def _selected(op: str, operands: Mapping[str, Value]) -> tuple[Ground, Ground]:
    branches = [v for name, v in operands.items() if name not in ("condition", "mask")]
    zero = max((v.zero for v in branches), default=Ground.NONE)
    return zero, min((v.ends for v in branches), default=Ground.NONE)


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


def promoted_dtype(op: str, operands: Sequence[Value]) -> str | None:
    """Element type of the result, where it is known."""
    if op in CASTS:
        return CASTS[op]
    if op in (
        "eq",
        "ne",
        "gt",
        "ge",
        "lt",
        "le",
        "isnan",
        "isinf",
        "isfinite",
        "logical_not",
        "bool",
        "any",
        "all",
    ):
        return "bool"
    if op in ("long", "argmax", "argmin", "randint", "bincount", "count_nonzero", "nonzero", "multinomial"):
        return "int64"
    tensors = [v.dtype for v in operands if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    floats = {d for d in tensors if d in FORMATS}
    if None in tensors or not tensors:
        return None
    if len(floats) == 1:
        return floats.pop()
    if len(floats) > 1:
        return "float32" if floats != {"float64"} and "float64" not in floats else "float64"
    if op in ("div", "mean", "sqrt", "exp", "log", "sigmoid", "softmax"):
        return "float32"
    return tensors[0] if op not in ("sum",) or tensors[0] != "bool" else "int64"
