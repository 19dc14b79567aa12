"""Vectors of length 1: rows and columns of what a decomposition makes orthonormal, and what is normalised."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stablelint.analysis.values.decompositions import UNIT_VECTORS
from stablelint.analysis.values.indexing import keeps_all, parts_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import about, stripped
from stablelint.numerics.interval import Interval
from stablelint.syntax.operations import SELECTIONS, VIEWS

_EXTREMES = frozenset({"argmax", "argmin"})  # one index of each matrix, where they run over its spectrum
_SPECTRA = frozenset({"eigenvalues", "singular_values"})


def unit_length(value: Value) -> bool:
    """Whether a vector is one of an orthonormal set, or normalised."""
    while value.first is not None and (
        value.op in VIEWS or value.op in SELECTIONS or value.op in ("index", "part")
    ):
        value = value.first
    return value.op == "normalize" or value.op in UNIT_VECTORS


def norm_of_units(op: str, operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Interval | None:
    """The norm of whole unit vectors, over everything or along them: 1 at least, but for rounding."""
    vectors, along = operands.get("input"), operands.get("dim")
    if vectors is None or not operands.keys() <= {"input", "dim", "keepdim"}:
        return None
    if along is None or along.kind is Kind.NONE:
        lie = _are_whole(stripped(vectors))
    else:
        lie = along.constant() == -1 and _lie_last(about(vectors))
    return Interval(0.5, math.inf, hi_open=True) if lie else None


def _lie_last(value: Value) -> bool:
    """Whether a value holds whole unit vectors along its last dimension."""
    if value.op == "squeeze" and value.first is not None and "dim" in value.operands:
        inner = about(value.first)
        dims = {v.operands["dim"].constant() for v in (value, inner) if "dim" in v.operands}
        return inner.op == "gather" and dims == {-1} and _are_whole(inner)
    return value.op == "index" and _are_whole(value)


def _are_whole(value: Value) -> bool:
    """Whether a value is made of whole unit vectors: all of a decomposition's, one of each matrix, or some."""
    taken = about(value.first) if value.first is not None else value
    if value.op in UNIT_VECTORS:
        return True
    if taken.op not in UNIT_VECTORS:
        return False
    rows, columns = _orthonormal(taken)
    if value.op in ("index_select", "select"):
        return rows and columns
    if value.op == "gather":  # an index that is the same for all elements of a vector
        return rows and columns and _picks_one(value.operands["index"])
    return value.op == "index" and _takes_vectors(parts_of(value.operands["index"]), rows, columns)


def _orthonormal(vectors: Value) -> tuple[bool, bool]:
    """Whether the rows, and the columns, of a decomposition's vectors are orthonormal."""
    source = vectors.first
    if source is None or source.op != "svd":
        return source is not None and source.op == "eigh", True
    full = source.operands.get("full_matrices")
    is_square = full is None or full.constant() is True
    is_right = vectors.data == 2
    return is_square or is_right, is_square or not is_right


def _takes_vectors(parts: list[Value], rows: bool, columns: bool) -> bool:
    """Whether an index takes one row or column, and all of whatever else there is."""
    picked = [i for i, part in enumerate(parts) if _picks_one(part)]
    if len(picked) != 1 or not all(keeps_all(part) for i, part in enumerate(parts) if i != picked[0]):
        return False
    if rows and columns:
        return True
    from_end = len(parts) - picked[0]
    return parts[0].constant() is Ellipsis and ((columns and from_end == 1) or (rows and from_end == 2))


def _picks_one(part: Value) -> bool:
    """Whether an index is a number, or the place of an extreme of a spectrum, of which each matrix has one."""
    place = stripped(part)
    if place.op in _EXTREMES and place.first is not None:
        return stripped(place.first).op in _SPECTRA
    return place.kind is Kind.NUMBER
