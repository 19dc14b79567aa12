"""Pairs of a tensor's rows: all of them, `x[None] - x[:, None]`, or chosen ones, `x[i] - x[j]`."""

from __future__ import annotations

from stablelint.analysis.values.families import PICKING
from stablelint.analysis.values.indexing import adds_dimensions, keeps_all
from stablelint.analysis.values.relations.alignment import unlaid
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import shown, stripped
from stablelint.syntax.operations import VIEWS, having

_SIZES = having("norm", "total") | {"abs", "pow", "square", "sqrt"}
_PICKED = VIEWS | PICKING
_MOVING = frozenset({"flip", "roll", "permute", "movedim"})
_DEPTH = 8  # operations looked through


def is_of_all_pairs(value: Value) -> bool:
    """Whether a value is 0 where `x[None] - x[:, None]` is: among all pairs each row is paired with itself."""
    for _ in range(_DEPTH):
        value = stripped(value)
        if value.op == "sub" and value.operands.keys() == {"input", "other"}:
            return are_all_pairs(*value.operands.values())
        if value.op not in _SIZES or value.first is None:
            return False
        value = value.first
    return False


def is_displacement(value: Value, depth: int = _DEPTH) -> bool:
    """Whether rows of one tensor are taken from each other, `x[i] - x[j]`, with something added perhaps."""
    value = stripped(value)
    parts = list(value.operands.values())
    if value.op == "sub" and len(parts) == 2:
        return parts[0].key != parts[1].key and _source(parts[0]) == _source(parts[1])
    return depth > 0 and value.op in ("phi", "add") and any(is_displacement(v, depth - 1) for v in parts)


def _source(rows: Value) -> int:
    """The key of the tensor whose rows a value is."""
    return stripped(rows, _PICKED).key


def are_all_pairs(one: Value, other: Value) -> bool:
    """Whether two values show one tensor along two dimensions, so that all its rows meet each other."""
    a, b = _widened(one), _widened(other)
    return a is not None and b is not None and a[0] == b[0] and a[1] != b[1]


def meets_itself(test: Value) -> bool:
    """Whether a comparison is of a tensor with itself, in whatever layout, so that it holds of each element and itself."""
    if test.op not in ("eq", "ge", "le") or not test.operands.keys() >= {"input", "other"}:
        return False
    one, other = test.operands["input"], test.operands["other"]
    return shown(unlaid(one)[0]).key == shown(unlaid(other)[0]).key and not any(map(_moves, (one, other)))


def _moves(value: Value) -> bool:
    """Whether a view takes elements away from their places along the same dimension."""
    looks_through = value.op in VIEWS or value.op == "index"
    return value.op in _MOVING or (looks_through and value.first is not None and _moves(value.first))


def _widened(value: Value) -> tuple[int, int] | None:
    """The keys of a tensor and of what shows it with a dimension added: `x[:, None]`, `x.unsqueeze(0)`."""
    index = value.operands.get("index")
    widens = index is not None and keeps_all(index) and adds_dimensions(index)
    if value.first is None or not (widens or value.op == "unsqueeze"):
        return None
    return value.first.key, value.key
