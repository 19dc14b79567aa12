"""Products of vectors of length 1 at most: `F.normalize(x) @ F.normalize(y).T` lies in [-1, 1], but for rounding."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.relations.alignment import alignment, unlaid
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import about, shown
from stablelint.numerics.formats import FLOAT32, FORMATS
from stablelint.numerics.interval import Interval

Operands = Mapping[str, Value]
Dims = frozenset[int]
_LAST, _ROWS = frozenset({-1}), frozenset({-2})
_IN_MATRIX = {-1: frozenset({-1, 1}), -2: frozenset({-2, 0})}  # the same dimension, counted from either end
_ULPS = 64  # of rounding
_DEPTH = 6


def product_of_units(
    op: str, operands: Operands, matrices: bool = False, as_long: bool = False
) -> Interval | None:
    """Where a product of unit vectors lies; None where they are none, or are not multiplied along themselves.

    `matrices`: all have two dimensions, so that the second is the last. `as_long`: all vectors are of one length, so that
    none of length 1 is repeated along another.
    """
    factors = _factors(op, operands, matrices)
    if factors is None or not (as_long or _are_as_long(op, factors)):
        return None
    if not all(_is_unit(value, dims, matrices, _DEPTH) for value, dims in factors):
        return None
    formats = (FORMATS.get(value.dtype or "", FLOAT32) for value, _ in factors)
    top = 1.0 + _ULPS * max(fmt.eps for fmt in formats)
    ranges = [value.interval for value, _ in factors]
    return Interval(0.0 if min(r.lo for r in ranges) >= 0 else -top, top, nan=any(r.nan for r in ranges))


def _are_as_long(op: str, factors: list[tuple[Value, Dims]]) -> bool:
    """Whether vectors have the same length: those of a product of matrices, or of a vector with itself."""
    return op == "matmul" or len({shown(value).key for value, _ in factors}) == 1


def _factors(op: str, operands: Operands, matrices: bool) -> list[tuple[Value, Dims]] | None:
    """What is multiplied, and the dimensions over which the products are added up."""
    if op == "einsum":
        return _contracted(operands)
    if op == "sum":
        product, along = operands.get("input"), operands.get("dim")
        dim = along.constant() if along is not None else None
        if product is None or about(product).op != "mul" or type(dim) is not int:
            return None
        return [(v, _counted(frozenset({dim}), matrices)) for v in about(product).operands.values()]
    if op != "matmul" or "other" not in operands:
        return None
    left, right = operands["input"], about(operands["other"])
    turned = _turned(right)
    if turned is None:
        return [(left, _counted(_LAST, matrices)), (right, _counted(_ROWS, matrices))]
    flat = matrices or ("dim0" not in right.operands and turned.key == about(left).key)  # `x @ x.T`
    return [(left, _counted(_LAST, flat)), (turned, _counted(_LAST, flat))]


def _counted(dims: Dims, matrices: bool) -> Dims:
    """All numbers of a dimension."""
    return frozenset().union(*(n for n in _IN_MATRIX.values() if dims & n)) if matrices else dims


def _contracted(operands: Operands) -> list[tuple[Value, Dims]] | None:
    """The two operands of `einsum("nc,mc->nm", x, y)`, and the place of the one index over which it adds up."""
    equation = operands["equation"].constant() if "equation" in operands else None
    if not isinstance(equation, str) or not {"input", "other"} <= operands.keys():
        return None
    taken, _, kept = equation.replace(" ", "").partition("->")
    one, _, other = taken.partition(",")
    summed = (set(one) | set(other)) - set(kept)
    once = all(len(set(letters)) == len(letters) for letters in (one, other))
    if not once or len(summed) != 1 or not summed <= set(one) & set(other):
        return None  # "..." is more than one of a letter
    (index,) = summed
    places = [(operands["input"], one), (operands["other"], other)]
    return [
        (v, frozenset({letters.index(index), letters.index(index) - len(letters)})) for v, letters in places
    ]


def _turned(value: Value) -> Value | None:
    """The value whose last two dimensions are swapped: `x.T`, `x.transpose(-1, -2)`, `x.permute(0, 2, 1)`."""
    dims = [v.constant() for name, v in value.operands.items() if name != "input"]
    if value.op == "transpose" and (not dims or set(dims) == {-1, -2}):
        return value.first
    return value.first if value.op == "permute" and dims == [0, 2, 1] else None


def _is_unit(value: Value, dims: Dims, matrices: bool, depth: int) -> bool:
    """Whether a value holds vectors of length 1 at most along one of `dims`."""
    value = about(value)
    if not depth:
        return False
    if value.op == "normalize":
        order = value.operands.get("p")
        return _dim_of(value, 1) in dims and (order is None or order.constant() == 2)
    if value.op == "div":
        return _dim_of(_length_below(value), None) in dims
    if value.op == "phi":
        return all(_is_unit(v, dims, matrices, depth - 1) for v in value.operands.values())
    if value.op == "cat" and "tensor0" in value.operands:
        along = value.data.constant() if isinstance(value.data, Value) else 0
        inside = dims if matrices else dims - _LAST  # which of a vector is the first
        parts = value.operands.values()
        return along == 0 and 0 not in dims and all(_is_unit(v, inside, matrices, depth - 1) for v in parts)
    where = value.operands.get("index" if value.op == "index" else "dim")
    if value.op in ("index", "unsqueeze") and where is not None and value.first is not None:
        added = where.constant() if value.op == "unsqueeze" else None
        kept = _keeps_last(where) if type(added) is not int else added in (0, -2)
        return kept and _is_unit(value.first, dims & _LAST, matrices, depth - 1)
    return False


def _dim_of(value: Value | None, default: int | None) -> object:
    dim = value.operands.get("dim") if value is not None else None
    return default if dim is None else dim.constant()


def _length_below(quotient: Value) -> Value | None:
    """The norm by which a value is divided that is its own, or that made larger."""
    divisor = about(quotient.operands["other"])
    if divisor.op in ("clamp", "add", "maximum") and divisor.first is not None:
        raised = [v for name, v in divisor.operands.items() if name != "input"]
        if "max" in divisor.operands or not all(v.interval.lo >= 0 for v in raised):
            return None
        divisor = divisor.first
    length, views = unlaid(divisor)
    order = length.operands.get("p")
    if length.op != "norm" or not (order is None or order.constant() == 2):
        return None
    own = about(length.operands["input"]).key == about(quotient.operands["input"]).key
    lies = alignment(length, views)
    return length if own and lies is not None and lies.is_shown else None


def _keeps_last(index: Value) -> bool:
    """Whether an index takes rows, or adds dimensions before the last one: `x[i]`, `x[None]`, `x[:, None, :]`."""
    parts = parts_of(index)
    return len(parts) == 1 or (parts[-1].kind is not Kind.NONE and all(map(keeps_all, parts)))
