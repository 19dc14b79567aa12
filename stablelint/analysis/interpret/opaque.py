"""Calls of which nothing is known but their name and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from stablelint.analysis.values.opaque import is_length_name, is_mask_name
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.numerics.interval import Interval


def opaque(
    op: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame, kind: Kind = Kind.UNKNOWN
) -> Value:
    """The value of such a call; matchers are shown it by its name."""
    name = op.rpartition(".")[2]
    value = mask_of_lengths(name, key, operands, node, frame)
    if value is None:
        value = Value(op, key, kind, operands, node=node, module=frame.module, name=name)
    if frame.reporting:
        frame.session.observe(value, frame)
    return value


def mask_of_lengths(
    name: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame
) -> Value | None:
    """What a function that is called a mask makes of lengths: true (or false) up to a position in each row."""
    if not is_mask_name(name):
        return None
    words = [name, *operands, *(value.name for value in operands.values())]
    if not any(is_length_name(word) for word in words):
        return None
    return Value(
        "lengths_mask",
        key,
        Kind.TENSOR,
        operands,
        Interval(0.0, 1.0),
        Ground.EXACT,
        Ground.EXACT,
        "bool",
        node,
        frame.module,
        name=name,
    )
