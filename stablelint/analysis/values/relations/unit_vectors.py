"""Vectors of length 1: rows and columns of what a decomposition makes orthonormal, and what is normalised."""

from __future__ import annotations

from stablelint.analysis.values.decompositions import UNIT_VECTORS
from stablelint.analysis.values.value import Value
from stablelint.syntax.operations import SELECTIONS, VIEWS


def unit_length(value: Value) -> bool:
    """Whether a vector is one of an orthonormal set, or normalised."""
    while value.first is not None and (
        value.op in VIEWS or value.op in SELECTIONS or value.op in ("index", "part")
    ):
        value = value.first
    return value.op == "normalize" or value.op in UNIT_VECTORS
