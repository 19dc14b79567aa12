"""The parts of a matrix decomposition, by the name of the field or by their place in the tuple."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stablelint.analysis.values.value import Kind, Value

if TYPE_CHECKING:
    from stablelint.analysis.values.state import Frame

_PARTS = {
    "eigh": ("eigenvalues", "eigenvectors"),
    "eig": ("eigenvalues", "eigenvectors"),
    "svd": ("singular_vectors", "singular_values", "singular_vectors"),
    "qr": ("orthonormal", "triangular"),
}
_FIELDS = {
    "eigh": {"eigenvalues": 0, "eigenvectors": 1},
    "eig": {"eigenvalues": 0, "eigenvectors": 1},
    "svd": {"U": 0, "S": 1, "Vh": 2, "V": 2},
    "qr": {"Q": 0, "R": 1},
}
PARTS = frozenset(name for names in _PARTS.values() for name in names)
UNIT_VECTORS = frozenset({"eigenvectors", "singular_vectors", "orthonormal"})


def part_named(whole: Value, field: str, node: ast.AST, frame: Frame) -> Value | None:
    """The part that `whole.field` reads, or None where `whole` is no decomposition with that field."""
    index = _FIELDS.get(whole.op, {}).get(field)
    return None if index is None else part_at(whole, index, node, frame)


def part_at(whole: Value, index: int, node: ast.AST, frame: Frame) -> Value | None:
    """The part at a place of the tuple that a decomposition returns, or None where `whole` has none there."""
    names = _PARTS.get(whole.op, ())
    if not -len(names) <= index < len(names):
        return None
    key = frame.graph.key("part", whole.key, index % len(names))
    part = Value(
        names[index], key, Kind.TENSOR, {"input": whole}, dtype=whole.dtype, node=node, module=frame.module
    )
    if frame.reporting:
        frame.session.observe(part, frame)
    return part
