"""Of which sort the numbers are that a value holds: integers, truth values, floating-point or complex numbers."""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.operations import having

_DEPTH = 12
# Results are floating-point whatever goes in.
MAKES_FLOATS = having("floating", "real") | {"uniform", "log_prob", "entropy"}
# Results hold numbers of the sort that the first operand holds.
KEEPS_SORT = having("keep-sort")
_MAKES_INTEGERS = having("whole")
# Of these the further operands are sizes, tensors that lend theirs, or what is written into the first.
_OF_FIRST = having("layout", "into", "like", "pick") | {"overwritten"}
_REARRANGES = having("layout", "copy", "pick") | {"neg"}
_ONE_BY_ONE = having("elementwise", "copy", "cast", "cut", "device")
_REDUCING = having("reduce") - having("several")
_ARITHMETIC = having("arithmetic")
_CLOSED = _ARITHMETIC | _REARRANGES
_REAL_PARTS = having("real-part")
_MAKES_REALS = having("grid", "draw", "size", "whole", "compare")


def is_integral(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is known to hold integers or truth values, by its type or by where it comes from."""
    if value.dtype is not None:
        return value.dtype.startswith(("int", "uint", "bool"))
    if value.op in _MAKES_INTEGERS:
        return True
    if value.kind is Kind.NUMBER:
        whole = not value.is_constant and value.interval.integral and not is_floating(value, depth)
        return whole or isinstance(value.constant(), int)
    if depth == 0 or value.op not in KEEPS_SORT:
        return False
    cast = next((operand.dtype for operand in value.operands.values() if operand.op == "dtype"), None)
    if cast is not None:
        return cast.startswith(("int", "uint", "bool"))
    parts = _parts(value)
    return bool(parts) and all(is_integral(part, depth - 1) for part in parts)


def is_one_number(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a tensor is known to have no dimension, so that others do not take its type: `torch.tensor(1e-8)`."""
    if value.op == "tensor":
        return value.operands["data"].kind is Kind.NUMBER if "data" in value.operands else False
    if value.op in _REDUCING:
        return "dim" not in value.operands
    size = value.operands.get("size")
    if size is not None:
        return size.kind is Kind.SEQUENCE and not size.data
    tensors = [part for part in value.operands.values() if part.kind in (Kind.TENSOR, Kind.UNKNOWN)]
    same = value.op in _ONE_BY_ONE and bool(tensors) and depth > 0
    return same and all(is_one_number(part, depth - 1) for part in tensors)


def is_floating(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is known to hold floating-point numbers, by its type or by where it comes from."""
    if value.dtype is not None:
        return value.dtype.startswith(("float", "bfloat"))
    if value.op in MAKES_FLOATS or isinstance(value.default(), float):
        return True
    if depth == 0 or value.op not in KEEPS_SORT or value.operands.get("dtype", value).kind is Kind.UNKNOWN:
        return False
    enough = all if value.op == "phi" else any  # of two paths each may be taken
    return enough(is_floating(part, depth - 1) for part in _parts(value))


def is_imaginary(value: Value, depth: int = _DEPTH, known: bool = True) -> bool:
    """Whether all numbers have the real part 0: multiples of `1j` by what is real. The size of their exponential is 1.

    Where they need not be `known` to be, what may be real is taken to be so.
    """

    def is_factor(part: Value) -> bool:
        return is_real(part, depth - 1) if known else not may_be_complex(part, depth - 1)

    number = value.constant()
    if isinstance(number, complex):
        return number.real == 0
    parts = list(value.operands.values())
    if depth == 0 or not parts:
        return False
    if value.op == "mul" and len(parts) > 1:
        first, second = parts[:2]  # a third is what the product is written into
        pairs = ((first, second), (second, first))
        return any(is_imaginary(one, depth - 1, known) and is_factor(other) for one, other in pairs)
    if value.op == "div":
        return is_imaginary(parts[0], depth - 1, known) and all(map(is_factor, parts[1:]))
    if value.op in ("add", "sub"):
        return all(is_imaginary(part, depth - 1, known) for part in parts)
    return value.op in _REARRANGES and is_imaginary(parts[0], depth - 1, known)


def may_be_complex(value: Value, depth: int = _DEPTH) -> bool:
    """Whether something that a value is made of is known to hold complex numbers."""
    if value.dtype is not None or value.op in _REAL_PARTS:
        return value.dtype is not None and value.dtype.startswith("complex")
    return depth > 0 and any(may_be_complex(part, depth - 1) for part in value.operands.values())


def is_real(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is known to hold no complex numbers."""
    if value.dtype is not None:
        return not value.dtype.startswith("complex")
    if value.is_constant:
        return isinstance(value.constant(), int | float)
    if value.op in _MAKES_REALS:
        return "dtype" not in value.operands
    if value.kind is Kind.NUMBER and value.interval.integral:
        return True
    parts = _parts(value)
    if depth == 0 or not parts or value.op not in _CLOSED:
        return False
    return all(is_real(part, depth - 1) for part in parts)


def may_be_integral(value: Value) -> bool:
    """Whether a tensor may hold integers, since some of what it is made of does, and nothing makes fractions of that."""
    return not is_floating(value) and _has_integers(value, _DEPTH)


def _has_integers(value: Value, depth: int) -> bool:
    if value.kind is Kind.NUMBER:
        return False
    if value.op == "arange":
        return "dtype" not in value.operands and not any(map(is_floating, value.operands.values()))
    parts = _parts(value) if depth and value.op in KEEPS_SORT else []
    return is_integral(value, 0) or any(_has_integers(part, depth - 1) for part in parts)


def deciding(value: Value) -> list[Value]:
    """The operands that may give a result numbers of another sort: no real number of Python's that nobody can set does."""
    exponent = [value.operands["exponent"]] if "exponent" in value.operands else []
    parts = (*_parts(value), *exponent)
    return [one for one in parts if one.kind is not Kind.NUMBER or one.assumed or not is_real(one)]


_ASIDE = frozenset(
    "condition mask index indices dim keepdim dims shape size repeats exponent min max k".split()
)


def _parts(value: Value) -> list[Value]:
    """The operands whose sort of number decides on the result's."""
    if value.op in _OF_FIRST:
        return [value.operands["input"]] if "input" in value.operands else []
    given = [operand for name, operand in value.operands.items() if name not in _ASIDE]
    joined = (one.data if one.kind is Kind.SEQUENCE else [one] for one in given)
    return [part for parts in joined for part in parts]
