"""Sizes of tensors."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from stablelint.analysis.values.families import SETTINGS
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import can_lack
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Belief, Kind, Value, sized
from stablelint.numerics.interval import AT_LEAST_ONE, COUNT


def size_of(tensor: Value, node: ast.AST, frame: Frame, at: Hashable = None, dim: object = None) -> Value:
    """A tensor's size, of all of it or `at` some dimension, which is `dim` where that is a number.

    It is believed to be at least 1, unless the tensor is a selection that can be empty.
    """
    listing = tensor.op == "nonzero" and tensor.key not in frame.state.nonempty
    emptiable = listing or can_lack(tensor, dim, frame.state)
    key = frame.graph.key("size_at", tensor.key, at)
    zero = Attained.EXACT if emptiable else Attained.COINCIDENCE
    value = Value(
        "size",
        key,
        Kind.NUMBER,
        {"input": tensor},
        AT_LEAST_ONE if dim == 0 and tensor.key in frame.state.nonempty else COUNT,
        zero,
        zero,
        node=node,
        module=frame.module,
        data=dim,
    )
    return value if emptiable or value.interval.lo >= 1 else not_empty(value, tensor)


def number_of_elements(tensor: Value, node: ast.AST, frame: Frame) -> Value:
    """How many elements a tensor has."""
    value = size_of(tensor, node, frame)
    value.op, value.key = "numel", frame.graph.key("numel", tensor.key)
    if tensor.key in frame.state.nonempty:
        value.interval, value.zero, value.belief = AT_LEAST_ONE, Attained.NONE, None
    return value


def some_size(sizes: Value, node: ast.AST, frame: Frame) -> Value | None:
    """One of several sizes of a tensor, `x.shape` or `x.shape[2:]`; None for what is no such sequence."""
    if sizes.op not in ("shape", "size") or sizes.first is None:
        return None
    return size_of(sizes.first, node, frame, (sizes.key, frame.graph.fresh()))


def length_key(thing: Value, frame: Frame) -> int:
    """The key of `len(thing)`."""
    key = frame.graph.part("length", thing.key, "")
    frame.graph.lengths.add(key)
    return key


def counted(value: Value) -> None:
    """Lets it be believed of a setting that it is positive, where something has as many elements or turns."""
    if value.op in SETTINGS and value.kind is not Kind.TENSOR:
        sized(value, value.name or "the count")


def count_under_root(value: Value) -> None:
    """`math.sqrt(2 * n)`: lets it be believed of a setting that it is positive; of what else is a root a setting?"""
    factors = value.operands.values() if value.op == "mul" else [value]
    settings = [v for v in factors if not (v.kind is Kind.NUMBER and v.interval.lo >= 1)]
    if len(settings) == 1 and settings[0].op in SETTINGS | {"item"} and settings[0].kind is not Kind.TENSOR:
        sized(value, settings[0].name or "the count")


def not_empty(count: Value, counted: Value) -> Value:
    """A count that is believed to be at least 1."""
    setting = Assumption(f"{counted.name or 'it'} is not empty")
    count.belief = Belief(AT_LEAST_ONE, Attained.NONE, Attained.COINCIDENCE, (setting,))
    return count
