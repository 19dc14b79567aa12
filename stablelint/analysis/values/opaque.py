"""Calls of which nothing is known but their name and their arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.numerics.interval import Interval

_MASK = re.compile(r"mask", re.I)
_LENGTHS = re.compile(r"(^|_|[a-z])len(s|gths?)?(_|$)", re.I)


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


def is_length_name(name: str) -> bool:
    """Whether something of that name is a length, or lengths."""
    return _LENGTHS.search(name) is not None


@lru_cache(maxsize=4096)
def is_mask_name(name: str) -> bool:
    """Whether something of that name is, or makes, a mask."""
    return _MASK.search(name) is not None


def mask_of_lengths(
    name: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame
) -> Value | None:
    """What a function that is called a mask makes of lengths: true (or false) up to a position in each row."""
    if not is_mask_name(name):
        return None
    words = [name, *operands, *(value.name for value in operands.values())]
    if not any(_LENGTHS.search(word) for word in words):
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
