"""What operands that are made of one another tell of a result: `x - x.max()` is not positive, whatever `x` is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from stablelint.analysis.values.relations.centres import at_centre, count_of
from stablelint.analysis.values.relations.cosines import product_of_units
from stablelint.analysis.values.relations.maxima import Operands, Ranges, difference, rows_of, runs_over
from stablelint.analysis.values.relations.unit_vectors import norm_of_units
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import COPIES, about, is_same, laid_alike, recast, stripped
from stablelint.numerics.arithmetic import neg
from stablelint.numerics.formats import FLOAT32, INTEGERS
from stablelint.numerics.interval import NONNEGATIVE, POSITIVE, TOP, Interval
from stablelint.syntax.operations import having

_TURNING = COPIES | {"transpose", "expand"}
_ULPS = 4  # of rounding, where a number is taken and added again
_BLENDS = 4  # operations that a blend of shares is made by
_LEAST_FACTOR = 1e-3  # a smaller share of a number in half precision may be lost
_LEAST_EXTENT = 1e-2  # of numbers about 1, and of their largest, which half precision tells apart
_AT_LEAST_ONE = Interval(1.0, math.inf, hi_open=True)
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
    return POSITIVE if factor.op == "cholesky" and not {"offset", "diagonal"} & operands.keys() else None


def triangle_cut(operands: Mapping[str, Value]) -> Value | None:
    """The matrix whose diagonal is taken of one of its triangles, which keeps it."""
    triangle = stripped(operands["input"], _TURNING)
    if triangle.op not in ("tril", "triu") or "offset" in operands or "diagonal" in triangle.operands:
        return None
    return triangle.first


def _sum_of_shifted(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`exp(a - m) + exp(b - m)`, where m is the larger of a and b: one of the two is 1."""
    terms = [recast(v) for v in operands.values()] if op == "add" else []
    if len(terms) != 2 or any(v.op != "exp" or v.first is None for v in terms):
        return None
    shifted = [recast(v.operands["input"]) for v in terms]
    if any(v.op != "sub" or recast(v.operands["other"]).op != "maximum" for v in shifted):
        return None
    larger = {recast(v.operands["other"]).key: recast(v.operands["other"]) for v in shifted}
    whole = {recast(v).key for v in next(iter(larger.values())).operands.values()}
    same = {recast(v.operands["input"]).key for v in shifted} == whole
    return Interval(1.0, 2.0) if len(larger) == 1 and same else None


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


def _sum_with_identity(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The rows, and the columns, of what is not negative, plus the identity, add up to 1 at least."""
    along = operands.get("dim")
    if along is not None and along.constant() not in (-1, -2):
        return None  # over heads or whatever else there are many of, what is beside the diagonal may be 0
    return _AT_LEAST_ONE if _adds_identity(op, operands) else None


def in_matrix(op: str, operands: Operands) -> tuple[Interval, str] | None:
    """Where the result lies if the shapes are what they are most often, and in words; None where that tells no more."""
    along = operands.get("dim")
    if along is not None and along.constant() in (0, 1) and _adds_identity(op, operands):
        return _AT_LEAST_ONE, f"{operands['input'].name or 'it'} has two dimensions"
    shares = operands.get("input") if op == "sum" else None
    least = _least_whole(shares, along, _are_one_in_matrix, _BLENDS) if shares is not None else None
    if least is not None:
        return Interval(least, math.inf, hi_open=True), "what softmax is taken of has two dimensions"
    alike, flat = "vectors that are multiplied are as long as each other", "has two dimensions"
    for matrices, as_long in ((False, True), (True, False), (True, True)):
        found = product_of_units(op, operands, matrices, as_long)
        if found is not None:
            shape = [f"{operands['input'].name or 'it'} {flat}"] if matrices else []
            return found, ", and ".join([*shape, *([alike] if as_long else [])])
    return None


def _adds_identity(op: str, operands: Operands) -> bool:
    """Whether a sum is over what is not negative, plus the identity."""
    total = recast(operands["input"]) if op == "sum" and "input" in operands else None
    terms = list(total.operands.values()) if total is not None and total.op == "add" else []
    return len(terms) == 2 and any(map(_is_square_identity, terms)) and all(v.interval.lo >= 0 for v in terms)


def _is_square_identity(value: Value) -> bool:
    """Whether a value is an identity, along the last two dimensions."""
    while value.first is not None and (value.op in COPIES or value.op == "expand" or _adds_first(value)):
        value = value.first
    value = stripped(value, _TURNING)
    return value.op == "eye" and "m" not in value.operands


def _adds_first(view: Value) -> bool:
    """Whether a view adds a dimension in front of all others: `x[None]`, `x.unsqueeze(0)`."""
    place = view.operands.get("dim")
    return view.op == "unsqueeze" and place is not None and (place.kind is Kind.NONE or place.constant() == 0)


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
    """The shares that a softmax deals out along a dimension add up to 1 along it, but for rounding; so do blends of them."""
    shares, along = operands.get("input"), operands.get("dim")
    least = None if shares is None else _least_whole(shares, along, _are_one, _BLENDS)
    if least is None or shares is None:
        return None
    most = 2.0 if _dealing(shares) is not None else math.inf
    return Interval(least, most, hi_open=most == math.inf, nan=ranges["input"].nan)


def _least_whole(
    shares: Value, along: Value | None, are_one: Callable[[Value, Value | None], bool], depth: int
) -> float | None:
    """What softmaxes, sums of them, and positive multiples by numbers add up to along a dimension, or less.

    Of a sum it is the smaller part that is sure: where one has fewer dimensions, its rows lie along others.
    """
    shares = about(shares)
    parts = list(shares.operands.values())
    if (softmax := _dealing(shares)) is not None:
        return 0.5 if along is not None and are_one(along, softmax.operands.get("dim")) else None
    if not depth or len(parts) != 2 or shares.op not in ("add", "mul", "div"):
        return None
    one, other = (_least_whole(part, along, are_one, depth - 1) for part in parts)
    if shares.op == "add":
        return None if one is None or other is None else min(one, other)
    whole, factor = (other, parts[0]) if one is None and shares.op == "mul" else (one, parts[1])
    number = factor.constant()
    if whole is None or not isinstance(number, int | float) or not _LEAST_FACTOR < number < 1 / _LEAST_FACTOR:
        return None
    return whole * number if shares.op == "mul" else whole / number


def _are_one(along: Value, over: Value | None) -> bool:
    """Whether two dimensions are the same, by their number or by what names both."""
    if over is None:
        return False
    return along.key == over.key or (along.constant() is not None and along.constant() == over.constant())


def _are_one_in_matrix(along: Value, over: Value | None) -> bool:
    """Whether two dimensions of a matrix are the same: -1 and 1."""
    one, other = along.constant(), over.constant() if over is not None else None
    known = isinstance(one, int) and isinstance(other, int) and -2 <= one < 2 and -2 <= other < 2
    return known and (one - other) % 2 == 0


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


def _straight_through(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`x + (y - x).detach()` has the values of y and the gradient of x; but for rounding, which large ones suffer."""
    found = passed_through(operands)
    if found is None:
        return None
    sizes = [abs(end) for one in found for end in (one.interval.lo, one.interval.hi)]
    error = _ULPS * FLOAT32.eps * max(sizes)
    interval = found[0].interval
    if not math.isfinite(error):
        return None
    return Interval(interval.lo - error, interval.hi + error, nan=interval.nan)


def passed_through(operands: Operands) -> tuple[Value, Value] | None:
    """`y` and `x` of `x + (y - x).detach()`."""
    for held, kept in (("other", "input"), ("input", "other")):
        inner = operands.get(held)
        while inner is not None and inner.op != "detach" and inner.op in COPIES:
            inner = inner.first
        change = inner.first if inner is not None and inner.op == "detach" else None
        if change is not None and change.op == "sub" and kept in operands:
            if change.operands["other"].key == operands[kept].key:
                return change.operands["input"], operands[kept]
    return None


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


def _norm_of_stacked(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The norm of vectors that are put together of their components is not below the size of any: `(x, y, 1)`."""
    vectors, over, order = (operands.get(name) for name in ("input", "dim", "p"))
    vectors = recast(vectors) if vectors is not None else None
    if vectors is None or vectors.op not in ("stack", "cat") or over is None or over.constant() is None:
        return None
    along = vectors.data.constant() if isinstance(vectors.data, Value) else 0
    if along != over.constant() or (order is not None and order.constant() not in (1, 2)):
        return None
    least = max(max(v.interval.lo, -v.interval.hi) for v in vectors.operands.values())
    return Interval(least, math.inf, hi_open=True) if least > 0 else None


def _spread_of_grid(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """The deviation of two or more evenly spaced numbers is a fifth of their extent, or more, also without the last."""
    corrected = (v.constant() in (0, 1) for n, v in operands.items() if n in ("unbiased", "correction"))
    grid = about(operands["input"])
    while grid.op == "tensor" and grid.first is not None and grid.dtype not in INTEGERS:
        grid = about(grid.first)
    ends = _ends_of_grid(grid) if all(corrected) and operands.keys() <= _OF_SPREAD else None
    if ends is None:
        return None
    extent, largest = abs(ends[1] - ends[0]), max(map(abs, ends))
    if not _LEAST_EXTENT * max(largest, 1.0) < extent < 1 / _LEAST_EXTENT:
        return None  # the numbers may be rounded to one, or to infinity
    return Interval(extent / 5 if op == "std" else (extent / 5) ** 2, math.inf, hi_open=True)


def _ends_of_grid(grid: Value) -> tuple[float, float] | None:
    """The first and the last number of `linspace(a, b, n)` or `arange(n)`, of two or more."""
    numbers = {
        n: v.interval.lo
        for n, v in grid.operands.items()
        if v.interval.is_point and math.isfinite(v.interval.lo)
    }
    if (
        grid.op == "linspace"
        and grid.dtype not in INTEGERS
        and {"start", "end", "steps"} <= numbers.keys()
        and numbers["steps"] >= 2
    ):
        return numbers["start"], numbers["end"]
    count = count_of(grid)
    known = count.interval if count is not None else TOP
    return (0.0, known.lo - 1) if grid.op == "arange" and known.is_point and known.lo >= 2 else None


def _plus_square(op: str, operands: Operands, ranges: Ranges) -> Interval | None:
    """`a.addcmul(g, g)`: what is not negative, and a square."""
    factors = [operands.get(name) for name in ("tensor1", "tensor2")]
    one, other = (v for v in factors if v is not None) if None not in factors else (None, None)
    if one is None or other is None or not is_same(one, other) or not operands.keys() <= _OF_SQUARE:
        return None
    known, weight = ranges["input"], ranges.get("value")
    return known.join(NONNEGATIVE) if known.lo >= 0 and (weight is None or weight.lo >= 0) else None


_OF_SPREAD = frozenset({"input", "dim", "keepdim", "unbiased", "correction"})
_OF_SQUARE = frozenset({"input", "tensor1", "tensor2", "value"})
_RELATIONS: Mapping[str, tuple[Callable[[str, Operands, Ranges], Interval | None], ...]] = {
    "sub": (difference,),
    **dict.fromkeys(having("spread"), (_spread_of_grid,)),
    "norm": (norm_of_units, _norm_of_stacked),
    "vector_norm": (_norm_of_stacked,),
    "sum": (_peaked, _sum_over_centre, _sum_of_shares, _sum_with_identity, _product_of_units),
    "matmul": (_product_of_units,),
    "amax": (_largest_share,),
    "addcmul": (_plus_square,),
    "logsumexp": (_peaked,),
    "mul": (_squared,),
    "einsum": (
        lambda op, operands, ranges: NONNEGATIVE if contracted(op, operands) else None,
        _product_of_units,
    ),
    "add": (_lifted, _straight_through, _sum_of_shifted, _of_divided_whole, _sum_of_parts),
}
