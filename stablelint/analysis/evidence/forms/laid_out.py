"""Grids: positions and frequencies that a program lays out by numbers alone."""

from __future__ import annotations

from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind
from stablelint.syntax.operations import having

_GRIDS = having("grid") - {"eye"}
_SETTINGS = frozenset({Kind.NUMBER, Kind.SEQUENCE, Kind.STRING, Kind.NONE, Kind.FOREIGN})


def is_laid_out(value: Value) -> bool:
    """Whether a value is computed of positions and of numbers, and of nothing that a tensor holds."""
    return bool(_grids_behind(value))


def _grids_behind(value: Value) -> list[Value]:
    """The grids of which a value is computed; none where it is computed of anything else, too."""
    parts = list(behind(value, _is_leaf))
    leaves = [v for v in parts if _is_leaf(v)]
    if any(v.op in DRAWN or v.op == "parameter" for v in parts):
        return []
    if not all(v.op in _GRIDS or v.kind in _SETTINGS for v in leaves):
        return []
    return [v for v in leaves if v.op in _GRIDS]


def _is_leaf(value: Value) -> bool:
    if value.op in _GRIDS or value.kind is Kind.NUMBER:
        return True
    return not value.operands and value.kind is not Kind.SEQUENCE
