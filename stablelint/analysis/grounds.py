"""How well founded it is that a result is 0 somewhere, and that it comes to the ends of its range."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.analysis.families import FINITE_TESTS
from stablelint.analysis.keeping import ODD, is_normal_draw, keeps_the_larger, leaves_out_start
from stablelint.analysis.relations import difference, is_span, is_span_on_a_path, triangle_cut, unit_length
from stablelint.analysis.value import Ground, Kind, Value
from stablelint.analysis.vanishing import vanish_together
from stablelint.analysis.views import stripped
from stablelint.numerics.interval import TOP, Interval
from stablelint.syntax.operations import SELECTIONS, VIEWS

_SATURATES = frozenset(
    (
        "softmax softmin sigmoid gumbel_softmax hardsigmoid ndtr erf erfc softplus log_softmax logsigmoid "
        "log_ndtr"
    ).split()
)
_EXACT_ZERO = frozenset(
    (
        "relu relu6 hardtanh norm vector_norm std var eq ne gt ge lt le logical_not logical_and logical_or "
        "isclose any all count_nonzero bincount histc one_hot zeros zeros_like rand "
        "rand_like bernoulli randint argmax argmin tril triu nonzero mse_loss l1_loss huber_loss "
        "smooth_l1_loss cdist arange eye multinomial randperm svdvals diag_embed contains"
    ).split()
)
_ENTROPIES = frozenset("cross_entropy binary_cross_entropy binary_cross_entropy_with_logits".split())
_DRAWS = frozenset({"rand", "rand_like"})
_EXPONENTIAL_TAILS = frozenset("elu celu selu".split())
_BOUNDED = frozenset("tanh sin cos cosine_similarity normalize atan atan2 randn randn_like hardswish".split())
_REDUCTIONS = frozenset("sum mean nanmean prod amax amin max min median quantile cumsum cumprod".split())
_TINY = 1e-2  # what is added to keep a number off 0, and not for its own sake
_ARITHMETIC = frozenset("add sub mul div".split())


def grounds(op: str, operands: Mapping[str, Value], interval: Interval) -> tuple[Ground, Ground]:
    """How well founded it is that the result is 0 somewhere, and that it comes to its interval's ends."""
    first = next(iter(operands.values()), None)
    if first is None:
        exact = op in _EXACT_ZERO
        return (
            Ground.EXACT if exact else Ground.NONE
        ), Ground.EXACT if op in _BOUNDED or exact else Ground.NONE
    if op == "index" and leaves_out_start(operands):
        return min(first.zero, Ground.COINCIDENCE), first.ends
    if op == "index" and keeps_the_larger(operands):
        return min(first.zero, Ground.COINCIDENCE), first.ends
    if op == "diagonal" and (matrix := triangle_cut(operands)) is not None:
        return matrix.zero, matrix.ends
    if op in VIEWS or op in SELECTIONS or op in ("index", "neg", "sqrt", "sign", "floor", "trunc", "cumsum"):
        return first.zero, first.ends
    if op == "arange" and len(operands) > 1 and first.interval.lo < 0 < first.interval.hi:
        return Ground.COINCIDENCE, Ground.NONE  # from a start that is not known
    if op == "norm" and unit_length(first):
        return Ground.NONE, first.ends
    if op in _SATURATES:
        return Ground.SATURATION, Ground.SATURATION
    if op in FINITE_TESTS or (op == "logical_not" and stripped(first).op in FINITE_TESTS):
        return Ground.COINCIDENCE, Ground.EXACT  # that every element is NaN, or none, is no ordinary case
    if op in ("norm", "std", "var") and _is_kept_apart(first):
        return Ground.COINCIDENCE, first.ends
    if op in _EXACT_ZERO:
        return Ground.EXACT, Ground.EXACT if interval.is_bounded else first.ends
    if op in _EXPONENTIAL_TAILS:
        return first.zero, min(first.ends, Ground.SATURATION)  # -1 is reached by rounding
    if op == "acos":
        return (first.ends if first.interval.hi >= 1 else Ground.NONE), first.ends
    if op in ODD and first.zero is Ground.EXACT:
        return first.zero, (Ground.EXACT if op in _BOUNDED and op != "atan" else first.ends)
    if op == "atan":
        return Ground.COINCIDENCE, Ground.COINCIDENCE  # pi / 2 is reached at infinity
    if op in _BOUNDED:
        return Ground.COINCIDENCE, Ground.EXACT
    if op in ("abs", "pow"):
        floor = Ground.COINCIDENCE if interval.contains(0.0) else Ground.NONE
        exponent = operands.get("exponent")
        ends = first.ends if exponent is None or exponent.is_constant else min(first.ends, exponent.ends)
        return max(first.zero, floor), ends
    if op in _REDUCTIONS:
        zero, ends = _reduced(op, first)
        unending = math.isinf(interval.lo) and math.isfinite(first.interval.lo)
        return zero, min(ends, Ground.COINCIDENCE) if unending else ends
    if op in _ARITHMETIC and "other" in operands:
        return _combined(op, first, operands["other"], interval)
    if op in ("exp", "exp2") and is_normal_draw(first):
        return Ground.COINCIDENCE, first.ends  # a log-normal draw
    if op in ("exp", "exp2"):
        saturates = first.peak or first.ends >= Ground.SATURATION
        tops = first.zero if first.interval.hi == 0 else Ground.NONE  # exp(-x) is 1 where x is 0
        return (Ground.SATURATION if saturates else Ground.COINCIDENCE), max(first.ends, tops)
    if op in _ENTROPIES and "reduction" in operands and operands["reduction"].constant() == "none":
        return Ground.SATURATION, Ground.NONE  # what a sure prediction loses is rounded to 0
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
        return (Ground.COINCIDENCE if _is_inverse(operands.get("index")) else first.zero), source.ends
    if op in ("stft", "fft"):
        return Ground.EXACT, Ground.NONE  # silence
    if op in ("log", "log2", "log10", "log1p") and interval.lo == 0.0:
        return _zero_of_logarithm(op, first), first.ends
    if op in ("log", "log2", "log10", "log1p"):
        return Ground.COINCIDENCE, max(first.zero, first.ends)
    reached = [v.ends for v in operands.values() if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    zero = Ground.COINCIDENCE if interval.contains(0.0) and interval != TOP else Ground.NONE
    return zero, min(reached, default=Ground.NONE)


def _is_inverse(index: Value | None) -> bool:
    """Whether an index is the one that `unique` gives back: each of its groups has an element."""
    place = stripped(index) if index is not None else None
    return place is not None and place.op == "part" and place.first is not None and place.first.op == "unique"


def _zero_of_logarithm(op: str, operand: Value) -> Ground:
    """`log(1 + n)` is 0 where n is."""
    if op == "log1p":
        return operand.zero
    terms = [v for v in stripped(operand).operands.values() if not v.is_constant]
    return terms[0].zero if stripped(operand).op == "add" and len(terms) == 1 else Ground.COINCIDENCE


def _reduced(op: str, operand: Value) -> tuple[Ground, Ground]:
    if op in ("amax", "max") and stripped(operand).op == "abs":  # the maximum norm
        inner = stripped(operand).operands["input"]
        fixed = (
            inner.interval.is_bounded and _row_of_zeros(inner) < Ground.SATURATION
        )  # a circle's points, say
        return Ground.COINCIDENCE if fixed else Ground.EXACT, operand.ends
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
    if inner.op == "overwritten" and isinstance(inner.data, Value) and inner.data.kind is Kind.NUMBER:
        return min(operand.zero, max(parts))  # the row itself was overwritten
    if inner.op in ("where", "phi", "cat", "stack", "overwritten", "masked_fill") and parts:
        return min(operand.zero, *parts)
    if inner.op == "sub" and any(stripped(v).op == "cosine_similarity" for v in inner.operands.values()):
        return min(operand.zero, Ground.COINCIDENCE)  # distances, which are 0 only where all agree
    if inner.op in ("tensor", "arange", "eye", "linspace", "rand", "rand_like"):
        return Ground.COINCIDENCE
    if inner.op == "mul" and len(parts) == 2:
        return min(operand.zero, max(parts))
    if inner.op in ("div", "neg", "pow", "index", "sqrt", "sum", "mean") and parts:
        return min(operand.zero, parts[0])
    return operand.zero


def _combined(op: str, a: Value, b: Value, interval: Interval) -> tuple[Ground, Ground]:
    ends = min(a.ends, b.ends)
    if op == "mul":
        if ends >= Ground.SATURATION and not (a.is_constant or b.is_constant) and _are_related(a, b):
            ends = Ground.COINCIDENCE  # p * log(p): one factor is small where the other is large
        return max(a.zero, b.zero), ends
    if op == "div":
        # A quotient of related values seldom comes to the ends that interval division gives it.
        return a.zero, ends if b.is_constant else min(ends, Ground.COINCIDENCE)
    if (
        interval.lo < 0.0 < interval.hi
        and _one_sided(a)
        and _one_sided(b)
        and not (a.is_constant or b.is_constant)
    ):
        ends = min(ends, Ground.COINCIDENCE)  # a difference of two sizes changes sign only by their values
    if not interval.contains(0.0):
        return Ground.NONE, ends
    if a.key == b.key and op == "sub":
        return Ground.EXACT, Ground.EXACT
    if vanish_together(a, b) or (op == "sub" and _is_mean_of(b, a) and not _is_kept_apart(a)):
        return Ground.EXACT, ends
    if op == "sub" and is_span_on_a_path(a, b):
        return Ground.EXACT, ends
    if interval == TOP or (math.isinf(interval.lo) and math.isinf(interval.hi)):
        return Ground.NONE, ends
    if op == "add" and _is_lifted_share(a, b):
        return min(a.zero, Ground.COINCIDENCE), min(ends, Ground.COINCIDENCE)
    if op == "add" and a.interval.lo >= 0 and b.interval.lo >= 0:
        drawn = stripped(a).op in _DRAWS and stripped(b).op in _DRAWS and a.key != b.key
        return min(a.zero, b.zero, Ground.COINCIDENCE if drawn else Ground.EXACT), ends
    if op == "sub" and b.is_constant and a.interval.lo == b.interval.lo:
        return min(a.ends, Ground.COINCIDENCE), ends  # n - 1 of a count that is at least 1
    if op == "sub" and math.isfinite(a.interval.hi) and a.is_constant:
        return b.ends, ends
    if op == "sub" and difference(op, {"input": a, "other": b}, {}) is not None:
        return Ground.EXACT, max(ends, Ground.COINCIDENCE)
    if interval.lo == 0.0 or interval.hi == 0.0:
        return ends, ends
    return min(Ground.COINCIDENCE, ends), ends


def _is_mean_of(mean: Value, value: Value) -> bool:
    """Whether what is left of a value without its mean is 0 for a row of equal elements."""
    inner = stripped(mean)
    return inner.op == "mean" and inner.first is not None and stripped(inner.first).key == stripped(value).key


def _is_lifted_share(value: Value, lift: Value) -> bool:
    """Whether a tiny number is added to shares of a total: they keep the signs of what is shared, and it tells which."""
    share = stripped(value)
    small = lift.is_constant and 0 < lift.interval.lo < _TINY
    named = lift.guard == "eps"
    return (
        share.op == "normalize"
        and share.first is not None
        and share.first.interval == TOP
        and (small or named)
    )


def _are_related(a: Value, b: Value) -> bool:
    return a.key != b.key and (a.key in _spoken_of(b) or b.key in _spoken_of(a))


def _one_sided(value: Value) -> bool:
    return value.interval.lo >= 0 or value.interval.hi <= 0


def _clamped(operands: Mapping[str, Value], interval: Interval) -> tuple[Ground, Ground]:
    bounds = [v for name, v in operands.items() if name in ("min", "max", "other")]
    known = [v for v in bounds if v.interval.is_bounded]
    if not interval.contains(0.0):
        return Ground.NONE, _clamped_ends(operands, interval)
    first = next(iter(operands.values()))
    if is_span(first) or (not first.interval.contains(0.0) and first.interval.lo < 0):
        return Ground.COINCIDENCE, _clamped_ends(operands, interval)
    if any(v.interval.contains(0.0) for v in known):
        return Ground.EXACT, _clamped_ends(operands, interval)
    return first.zero, _clamped_ends(operands, interval)


def _clamped_ends(operands: Mapping[str, Value], interval: Interval) -> Ground:
    """Clamping on both sides is reached on both; a free side is reached as the operand reaches it."""
    if interval.is_bounded:
        return Ground.EXACT
    values = list(operands.values())
    ends = next((v for v in values if not v.is_constant), values[0]).ends
    return (
        min(ends, Ground.COINCIDENCE) if "max" in operands else ends
    )  # a bound that is not known is a bound


_TEST_DEPTH = 6


def _spoken_of(test: Value) -> frozenset[int]:
    """Keys of the values that a test is made of."""
    keys: set[int] = set()
    level = [test]
    for _ in range(_TEST_DEPTH):
        below: list[Value] = []
        for value in level:
            if value.key not in keys and not value.is_constant:
                keys.add(value.key)
                below.extend(value.operands.values())
        level = below
    return frozenset(keys)


def _is_tested(value: Value, spoken: frozenset[int]) -> bool:
    """Whether a selection's own test speaks of the value: it is there to keep out what is bad."""
    return not value.is_constant and (value.key in spoken or stripped(value).key in spoken)


def _is_kept_apart(value: Value) -> bool:
    """Whether a selection puts something that is not 0 where its test finds the value too small."""
    value = stripped(value)
    test = value.operands.get("condition")
    if value.op != "where" or test is None:
        return False
    spoken = _spoken_of(test)
    branches = [v for name, v in value.operands.items() if name != "condition"]
    return all(_is_tested(v, spoken) or not v.interval.contains(0.0) or _is_solid(v) for v in branches)


def _is_solid(value: Value) -> bool:
    """Whether each row has an element that is not 0: a unit vector put together of ones and zeros."""
    value = stripped(value)
    parts = value.operands.values() if value.op in ("cat", "stack") else ()
    return any(v.kind is Kind.TENSOR and not v.interval.contains(0.0) for v in parts)


def _selected(op: str, operands: Mapping[str, Value]) -> tuple[Ground, Ground]:
    branches = [v for name, v in operands.items() if name not in ("condition", "mask")]
    test = operands.get("condition") or operands.get("mask")
    spoken = _spoken_of(test) if test is not None else frozenset()
    grounds = [min(v.zero, Ground.COINCIDENCE) if _is_tested(v, spoken) else v.zero for v in branches]
    zero = max(grounds, default=Ground.NONE)
    return zero, min((v.ends for v in branches), default=Ground.NONE)
