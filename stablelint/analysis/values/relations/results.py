"""What operands that are made of one another tell of a result: `x - x.max()` is not positive, whatever `x` is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from stablelint.analysis.values.relations.centres import at_centre
from stablelint.analysis.values.relations.cosines import product_of_units
from stablelint.analysis.values.relations.maxima import Operands, Ranges, difference, rows_of, runs_over
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import COPIES, about, is_same, laid_alike, recast, stripped
from stablelint.numerics.arithmetic import neg
from stablelint.numerics.interval import NONNEGATIVE, POSITIVE, Interval

_TURNING = COPIES | {"transpose", "expand"}
ABOVE_HALF = Interval(0.5, math.inf, hi_open=True)  # 1, but for rounding


def related(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """Where the result lies by a relation between the operands; None where none is seen."""
    for relation in _RELATIONS.get(op, ()):
        found = relation(op, operands, ranges)
        if found is not None:
            return found
    return None


def of_cholesky(operands: Mapping[str, Value]) -> Interval | None:
    """The diagonal of a Cholesky factor is positive."""
    factor = stripped(operands["input"], _TURNING)
    return POSITIVE if factor.op == "cholesky" and "offset" not in operands else None


def triangle_cut(operands: Mapping[str, Value]) -> Value | None:
    """The matrix whose diagonal is taken of one of its triangles, which keeps it."""
    triangle = stripped(operands["input"], _TURNING)
    if triangle.op not in ("tril", "triu") or "offset" in operands or "diagonal" in triangle.operands:
        return None
    return triangle.first


def _sum_of_parts(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`n / a + n / b`, of an n that is not 0 and counts: both have the sign of n."""
    if len(operands) != 2 or any(held.contains(0.0) for held in ranges.values()):
        return None
    one, other = map(_whole, operands.values())
    nan = any(held.nan for held in ranges.values())
    return Interval(-math.inf, math.inf, nonzero=True, nan=nan) if is_same(one, other) else None


def _whole(part: Value) -> Value:
    """What a value is a multiple of, by factors and divisors that are not negative."""
    while part.op in ("mul", "div") and len(part.operands) == 2:
        first, second = part.operands.values()
        if second.interval.lo >= 0:
            part = first
        elif part.op == "mul" and first.interval.lo >= 0:
            part = second
        else:
            break
    return part


def in_matrix(op: str, operands: Operands) -> tuple[Interval, str] | None:
    """Where the result lies if the shapes are what they are most often, and in words; None where that tells no more."""
    alike, flat = "vectors that are multiplied are as long as each other", "has two dimensions"
    for matrices, as_long in ((False, True), (True, False), (True, True)):
        found = product_of_units(op, operands, matrices, as_long)
        if found is not None:
            shape = [f"{operands['input'].name or 'it'} {flat}"] if matrices else []
            return found, ", and ".join([*shape, *([alike] if as_long else [])])
    return None


def _largest_share(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The largest of the shares that a softmax deals out is above 0: at least one divided by their number."""
    softmax = _dealing(operands["input"]) if op == "amax" and "input" in operands else None
    if softmax is None:
        return None
    along, over = operands.get("dim"), softmax.operands.get("dim")
    if along is not None and not _are_one(along, over):
        return None
    return Interval(0.0, 1.0, lo_open=True)


def _dealing(shares: Value) -> Value | None:
    """The softmax that deals out what a value holds; where this is `exp(log_softmax(x))`, its logarithm."""
    shares = about(shares)
    if shares.op == "exp" and shares.first is not None:
        logarithm = about(shares.first)
        return logarithm if logarithm.op == "log_softmax" else None
    return shares if shares.op == "softmax" else None


def _sum_over_centre(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The sum of what is nowhere negative is not below its element at the centre of a kernel."""
    if "input" not in operands or rows_of(operands) != "all" or not ranges["input"].lo >= 0:
        return None
    found = at_centre(operands["input"])
    return Interval(found.lo, math.inf, hi_open=True) if found is not None and found.lo > 0 else None


def _sum_of_shares(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The shares that a softmax deals out along a dimension add up to 1 along it, but for rounding."""
    shares, along = operands.get("input"), operands.get("dim")
    softmax = _dealing(shares) if shares is not None else None
    if softmax is None or along is None or not _are_one(along, softmax.operands.get("dim")):
        return None
    return Interval(0.5, 2.0, nan=ranges["input"].nan)


def _are_one(along: Value, over: Value | None) -> bool:
    """Whether two dimensions are the same, by their number or by what names both."""
    if over is None:
        return False
    return along.key == over.key or (along.constant() is not None and along.constant() == over.constant())


def _product_of_units(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """A product of unit vectors, along themselves."""
    return product_of_units(op, operands)


def gathered_sum(operands: Mapping[str, Value]) -> Interval | None:
    """The sum of a group that holds an element: at least the end that one of its elements attains."""
    grouped = stripped(operands["input"])
    source = grouped.operands.get("src") or grouped.operands.get("source")
    index, read = grouped.operands.get("index"), operands.get("index")
    if grouped.op not in ("scatter_add", "index_add", "scatter_sum") or source is None or index is None:
        return None
    group = ("group", stripped(index).key)
    if read is None or source.peak != group or group != ("group", stripped(read).key):
        return None
    if source.interval.lo < 0 or not math.isfinite(source.interval.hi):
        return None
    return Interval(source.interval.hi, math.inf, hi_open=True)


def _cofactors(product: Value, factor: Value) -> Iterator[Value]:
    """What a factor is multiplied with in a product that holds it: the 2 of `2 * x` and `x`."""
    if product.op == "mul" and "other" in product.operands:
        one, other = product.operands["input"], product.operands["other"]
        if is_same(one, factor):
            yield other
        if is_same(other, factor):
            yield one


def _squared(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`x * x` and `2 * x * x` are at least 0; `x * (x > 0)` lies where the test holds, or is 0."""
    if op != "mul" or "other" not in operands:
        return None
    left, right = operands["input"], operands["other"]
    if is_same(left, right):
        return NONNEGATIVE if ranges["input"].contains(0.0) else None
    weights = (*_cofactors(left, right), *_cofactors(right, left))
    if any(weight.interval.lo >= 0 for weight in weights):
        return NONNEGATIVE
    if any(weight.interval.hi <= 0 for weight in weights):
        return neg(NONNEGATIVE)
    one, other = map(recast, laid_alike(recast(left), recast(right)))
    for value, test, name in ((one, other, "input"), (other, one, "other")):
        subject = test.operands.get("input")
        bound = test.operands.get("other")
        if (
            test.op in ("gt", "ge", "lt", "le")
            and subject is not None
            and bound is not None
            and bound.is_constant
        ):
            if recast(subject).key != value.key:
                continue
            limit = bound.interval.lo
            kept = Interval(limit, math.inf) if test.op in ("gt", "ge") else Interval(-math.inf, limit)
            inside = ranges[name].meet(kept)
            return inside.join(Interval.point(0.0)) if inside is not None else Interval.point(0.0)
    return None


def contracted(op: str, operands: Mapping[str, Value]) -> Value | None:
    """The tensor that a product of these operands contracts with itself, index by index."""
    if op != "einsum" or not {"equation", "input", "other"} <= operands.keys():
        return None
    equation, one, other = operands["equation"].constant(), operands["input"], operands["other"]
    if not isinstance(equation, str) or not is_same(one, other):
        return None
    taken = equation.partition("->")[0].replace(" ", "").split(",")
    return one if len(taken) == 2 and taken[0] == taken[1] else None


def _lifted(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`x + (x == 0) * c` with a positive c is not 0, and above it where x is at least 0; so is `x + (x < eps) * c`."""
    if op != "add" or "other" not in operands:
        return None
    for name, other in (("input", "other"), ("other", "input")):
        term = recast(operands[other])
        factors = list(map(recast, term.operands.values() if term.op == "mul" else [term]))
        tests = [v for v in factors if v.op in ("eq", "lt", "le") and len(v.operands) == 2]
        for test in tests:
            least = math.prod(v.interval.lo for v in factors if v is not test)
            subject, bound = test.operands.values()
            if recast(subject).key == recast(operands[name]).key and least > 0:
                found = _raised(test.op, bound.interval, ranges[name], least)
                if found is not None:
                    return found
    return None


def divided_whole(operands: Operands) -> Value | None:
    """The x of `x.sum() + (1 - x).cumsum(0)`: in [0, 1] the sum is not below `x[0] + (1 - x[0])`, whatever it is."""
    parts = [recast(v) for v in operands.values()]
    for whole, rest in (parts, parts[::-1]) if len(parts) == 2 else ():
        left = about(rest.first) if rest.op == "cumsum" and rest.first is not None else None
        if whole.op != "sum" or rows_of(whole.operands) != "all" or left is None or left.op != "sub":
            continue
        counted, taken = whole.operands["input"], left.operands.get("other")
        if taken is not None and left.operands["input"].constant() == 1 and is_same(counted, taken):
            return recast(taken)
    return None


def _of_divided_whole(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`x.sum() + (1 - x).cumsum(0)` of an x in [0, 1]."""
    divided = divided_whole(operands)
    return ABOVE_HALF if divided is not None and is_share(divided.interval) else None


def is_share(interval: Interval) -> bool:
    """Whether all numbers of a range lie in [0, 1]."""
    return 0 <= interval.lo <= interval.hi <= 1 and not interval.nan


def _raised(test: str, bound: Interval, known: Interval, least: float) -> Interval | None:
    """Where values in `known` lie once `least` or more is added to those that pass a test with a bound."""
    if test == "eq":
        floor = 0.0 if known.lo == 0 else -math.inf
        lifts = bound == Interval.point(0.0) and known.contains(0.0)
        return Interval(floor, math.inf, True, True, nonzero=True) if lifts else None
    if known.lo < 0 or not bound.lo > 0:
        return None
    return Interval(min(bound.lo, least), math.inf, hi_open=True)


def _peaked(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """A sum of nonnegative elements, one of which attains the upper end, is at least that end."""
    if op not in ("sum", "logsumexp"):
        return None
    operand = operands.get("input")
    if operand is None or not runs_over(rows_of(operands), operand.peak):
        return None
    interval = ranges["input"]
    if op == "sum" and interval.lo >= 0 and math.isfinite(interval.hi):
        return Interval(interval.hi, math.inf, hi_open=True)
    return None


_RELATIONS: Mapping[str, tuple[Callable[[str, Operands, Ranges], Interval | None], ...]] = {
    "sub": (difference,),
    "sum": (_peaked, _sum_over_centre, _sum_of_shares, _product_of_units),
    "matmul": (_product_of_units,),
    "amax": (_largest_share,),
    "logsumexp": (_peaked,),
    "mul": (_squared,),
    "einsum": (
        lambda op, operands, ranges: NONNEGATIVE if contracted(op, operands) else None,
        _product_of_units,
    ),
    "add": (_lifted, _of_divided_whole, _sum_of_parts),
}
