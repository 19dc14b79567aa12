"""Reads the parts of a matrix decomposition, by the name of the field or by their place in the tuple."""

from __future__ import annotations

import ast

from stablelint.analysis.values.decompositions import FIELDS_OF, PARTS_OF
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.numerics.interval import NONNEGATIVE


def part_named(whole: Value, field: str, node: ast.AST, frame: Frame) -> Value | None:
    """The part that `whole.field` reads, or None where `whole` is no decomposition with that field."""
    index = FIELDS_OF.get(whole.op, {}).get(field)
    return None if index is None else part_at(whole, index, node, frame)


def part_at(whole: Value, index: int, node: ast.AST, frame: Frame) -> Value | None:
    """The part at a place of the tuple that a decomposition returns, or None where `whole` has none there."""
    names = PARTS_OF.get(whole.op, ())
    if not -len(names) <= index < len(names):
        return None
    key = frame.graph.key("part", whole.key, index % len(names))
    part = Value(
        names[index], key, Kind.TENSOR, {"input": whole}, dtype=whole.dtype, node=node, module=frame.module,
        data=index % len(names),
    )  # fmt: skip
    if part.op == "singular_values":
        part.interval, part.zero = NONNEGATIVE, Attained.COINCIDENCE
    return frame.observed(part)
