"""Sizes of tensors."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable

from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.numerics.interval import interned


def _spelled(part: object) -> Hashable:
    """What tells one index from another in the text."""
    if isinstance(part, list):
        return tuple(map(_spelled, part))
    if not isinstance(part, ast.AST):
        return type(part), part
    if isinstance(part, ast.Name):
        return part.id
    if isinstance(part, ast.Constant):
        return _spelled(part.value)
    return type(part), *(_spelled(getattr(part, name)) for name in part._fields)


def size_of(tensor: Value, node: ast.AST, frame: Frame) -> Value:
    """A tensor's size: at least 1, unless the tensor is a selection that can be empty."""
    selected = tensor.op in ("masked_select", "nonzero") or (
        tensor.op == "index" and tensor.operands["index"].dtype == "bool"
    )
    low = 0.0 if selected and tensor.key not in frame.state.nonempty else 1.0
    key = frame.graph.key("size_at", tensor.key, _spelled(node))
    zero = Ground.EXACT if low == 0.0 else Ground.NONE
    interval = interned(low, math.inf, False, True, False, False, True)
    return Value(
        "size",
        key,
        Kind.NUMBER,
        {"input": tensor},
        interval,
        zero,
        Ground.EXACT if low == 0.0 else Ground.COINCIDENCE,
        node=node,
        module=frame.module,
    )
