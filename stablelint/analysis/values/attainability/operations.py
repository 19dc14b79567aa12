"""The attainability of a result by its operation: one rule for each kind of operation, and what holds for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from stablelint.analysis.values.attainability.arithmetic import combined
from stablelint.analysis.values.attainability.rows import reduced, row_of_zeros
from stablelint.analysis.values.attainability.selection import clamped, selected
from stablelint.analysis.values.families import FINITE_TESTS
from stablelint.analysis.values.keeping import ODD, keeps_the_larger, leaves_out_start
from stablelint.analysis.values.relations.pairs import is_of_all_pairs
from stablelint.analysis.values.relations.results import triangle_cut
from stablelint.analysis.values.relations.unit_vectors import unit_length
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import TOP, Interval
from stablelint.syntax.operations import SELECTIONS, VIEWS, having

Operands: TypeAlias = Mapping[str, Value]
ZeroAndEnds: TypeAlias = tuple[Attained, Attained]  # of a 0, and of the ends
Rule: TypeAlias = Callable[[str, Operands, Value, Interval], ZeroAndEnds]

_DRAWN, _EXACT, _EXTENT = having("draw"), having("exact"), having("extent")
_REDUCTIONS = "sum mean nanmean prod amax amin max min median quantile cumsum cumprod".split()
_KEEPING = [*VIEWS, *SELECTIONS, *"neg sqrt sign floor trunc cumsum imag".split()]
_ENTROPIES = "cross_entropy binary_cross_entropy binary_cross_entropy_with_logits".split()

# What is made out of nothing.
TAKING_NOTHING: Mapping[str, ZeroAndEnds] = {
    **dict.fromkeys(_EXTENT, (Attained.NONE, Attained.EXACT)),
    **dict.fromkeys(_EXACT, (Attained.EXACT, Attained.EXACT)),
}


_ATTAINED = (Attained.COINCIDENCE, Attained.EXACT)
_TESTED = _ATTAINED  # that every element is NaN, or none, is no ordinary case


def by_rule(
    rule: Rule | ZeroAndEnds, op: str, operands: Operands, first: Value, interval: Interval
) -> ZeroAndEnds:
    """What a row of a table says: the same of all operands, or what its function makes of them."""
    return rule if isinstance(rule, tuple) else rule(op, operands, first, interval)


def of_any(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    """An operation of which nothing more is known: it comes to the ends that all its operands come to."""
    reached = [v.ends for v in operands.values() if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    zero = Attained.COINCIDENCE if interval.contains(0.0) and interval != TOP else Attained.NONE
    return zero, min(reached, default=Attained.NONE)


def _kept(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return first.zero, first.ends


def _of_copy(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    source = operands.get("src", first)
    return source.zero, source.ends


def _of_index(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    if leaves_out_start(operands) or keeps_the_larger(operands):
        return min(first.zero, Attained.COINCIDENCE), first.ends
    if operands["index"].dtype == "bool" and is_of_all_pairs(first):
        return min(first.zero, Attained.COINCIDENCE), first.ends  # as a rule none of a row with itself
    return first.zero, first.ends


def _of_filled_diagonal(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    fill = operands.get("value")
    if fill is None:
        return of_any(op, operands, first, interval)
    zero = min(first.zero, Attained.COINCIDENCE) if is_of_all_pairs(first) else first.zero
    return max(zero, fill.zero), min(first.ends, fill.ends)


def _of_diagonal(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    matrix = triangle_cut(operands) or first
    return matrix.zero, matrix.ends


def _of_rectified(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    """A rectifier leaves as it is what is nowhere negative."""
    return (first.zero, first.ends) if first.interval.lo >= 0 else _exact(op, operands, first, interval)


def _exact(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return Attained.EXACT, Attained.EXACT if interval.is_bounded else first.ends


def _of_arange(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    if len(operands) > 1 and first.interval.lo < 0 < first.interval.hi:
        return Attained.COINCIDENCE, Attained.NONE  # from a start that is not known
    zero, ends = _exact(op, operands, first, interval)
    step = operands.get("step")
    rises = "end" in operands and first.interval.lo >= 0 and (step is None or step.interval.lo >= 0)
    return (first.zero if rises else zero), ends  # upwards from a size, say


def _of_spread(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    if op == "norm" and unit_length(first):
        return Attained.NONE, first.ends
    if _is_varied(stripped(first)):
        return Attained.COINCIDENCE, first.ends  # random numbers are hardly ever all alike
    return _exact(op, operands, first, interval)


def _is_varied(vector: Value) -> bool:
    """Whether numbers were drawn, or trained from others than zeros: that they are alike is a coincidence."""
    begun = vector.operands.get("data") or vector.first
    if vector.op == "parameter":
        return begun is None or row_of_zeros(begun) < Attained.EXACT
    return vector.op in _DRAWN


def _of_negation(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return _TESTED if stripped(first).op in FINITE_TESTS else _exact(op, operands, first, interval)


def _of_exponential_tail(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return first.zero, min(first.ends, Attained.SATURATION)  # -1 is reached by rounding


def _of_angle(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return (first.ends if first.interval.hi >= 1 else Attained.NONE), first.ends


def _of_odd(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    """An odd function is 0 where its operand is."""
    if first.zero is Attained.EXACT:
        return first.zero, (Attained.EXACT if op in _EXTENT and op != "atan" else first.ends)
    return by_rule(_ODD_OFF_ZERO.get(op, of_any), op, operands, first, interval)


def _of_power(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    floor = Attained.COINCIDENCE if interval.contains(0.0) else Attained.NONE
    exponent = operands.get("exponent")
    ends = first.ends if exponent is None or exponent.is_constant else min(first.ends, exponent.ends)
    return max(first.zero, floor), ends


def _of_reduction(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    zero, ends = reduced(op, first)
    unending = math.isinf(interval.lo) and math.isfinite(first.interval.lo)
    return zero, min(ends, Attained.COINCIDENCE) if unending else ends


def _of_arithmetic(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    other = operands.get("other")
    return of_any(op, operands, first, interval) if other is None else combined(op, first, other, interval)


def _of_exponential(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    saturates = first.peak or first.ends >= Attained.SATURATION
    tops = first.zero if first.interval.hi == 0 else Attained.NONE  # exp(-x) is 1 where x is 0
    return (Attained.SATURATION if saturates else Attained.COINCIDENCE), max(first.ends, tops)


def _of_entropy(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    reduction = operands.get("reduction")
    if reduction is not None and reduction.constant() == "none":
        return Attained.SATURATION, Attained.NONE  # what a sure prediction loses is rounded to 0
    return of_any(op, operands, first, interval)


def _crossing(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return Attained.COINCIDENCE, first.ends


def _of_product(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    other = operands.get("other")
    if other is None:
        return of_any(op, operands, first, interval)
    ends = min(first.ends, other.ends)
    if Attained.EXACT in (first.zero, other.zero):
        return max(row_of_zeros(first), row_of_zeros(other)), ends
    if interval.lo >= 0:
        return min(first.zero, other.zero), ends
    return of_any(op, operands, first, interval)


def _of_groups(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    return (Attained.EXACT if interval.lo == 0 else Attained.NONE), first.ends  # a group without an element


def _of_scatter(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    source = operands.get("src") or operands.get("source") or first
    return (Attained.COINCIDENCE if _is_inverse(operands.get("index")) else first.zero), source.ends


def _is_inverse(index: Value | None) -> bool:
    """Whether an index is the one that `unique` gives back: each of its groups has an element."""
    place = stripped(index) if index is not None else None
    return place is not None and place.op == "part" and place.first is not None and place.first.op == "unique"


def _of_logarithm(op: str, operands: Operands, first: Value, interval: Interval) -> ZeroAndEnds:
    if interval.lo == 0.0:
        return _zero_of_logarithm(op, first), first.ends
    return Attained.COINCIDENCE, max(first.zero, first.ends)


def _zero_of_logarithm(op: str, operand: Value) -> Attained:
    """`log(1 + n)` is 0 where n is."""
    if op == "log1p":
        return operand.zero
    terms = [v for v in stripped(operand).operands.values() if not v.is_constant]
    return terms[0].zero if stripped(operand).op == "add" and len(terms) == 1 else Attained.COINCIDENCE


# Odd functions where the operand is not known to be 0.
_ODD_OFF_ZERO: Mapping[str, Rule | ZeroAndEnds] = {
    "atan": (Attained.COINCIDENCE, Attained.COINCIDENCE),  # pi / 2 is reached at infinity
    **dict.fromkeys(("sin", "tanh"), _ATTAINED),
    **dict.fromkeys(("expm1", "sinh"), _crossing),
    "log1p": _of_logarithm,
}
# A later row goes before an earlier one, where two speak of one operation.
RULES: Mapping[str, Rule | ZeroAndEnds] = {
    **dict.fromkeys(_EXTENT, _ATTAINED),
    **dict.fromkeys(ODD, _of_odd),
    **dict.fromkeys(_REDUCTIONS, _of_reduction),
    **dict.fromkeys(("log", "log2", "log10"), _of_logarithm),
    **dict.fromkeys(("exp", "exp2"), _of_exponential),
    **dict.fromkeys(("abs", "pow"), _of_power),
    **dict.fromkeys(having("arithmetic"), _of_arithmetic),
    **dict.fromkeys(
        ("clamp", "maximum", "minimum"), lambda op, operands, _, lies: clamped(op, operands, lies)
    ),
    **dict.fromkeys(("where", "masked_fill"), lambda op, operands, first, lies: selected(operands)),
    # The weight may be a fixed filter.
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d"), (Attained.COINCIDENCE, Attained.NONE)),
    **dict.fromkeys(("index_add", "scatter_add", "scatter_reduce", "scatter"), _of_scatter),
    **dict.fromkeys(("stft", "fft", "irfft"), (Attained.EXACT, Attained.NONE)),  # silence
    **dict.fromkeys(("elu", "celu", "selu"), _of_exponential_tail),
    **dict.fromkeys(_ENTROPIES, _of_entropy),
    "acos": _of_angle,
    "cosh": _crossing,
    "linear_module": _ATTAINED,
    "matmul": _of_product,
    "scatter_sum": _of_groups,
    **dict.fromkeys(_EXACT, _exact),
    **dict.fromkeys(("norm", "std", "var"), _of_spread),
    "arange": _of_arange,
    "relu": _of_rectified,
    "logical_not": _of_negation,
    **dict.fromkeys(FINITE_TESTS, _TESTED),
    **dict.fromkeys(having("saturate"), (Attained.SATURATION, Attained.SATURATION)),
    **dict.fromkeys(_KEEPING, _kept),
    **dict.fromkeys(("as_real", "as_complex", "real"), _kept),
    "index": _of_index,
    "copy_": _of_copy,
    "diagonal": _of_diagonal,
    "fill_diagonal_": _of_filled_diagonal,
}
