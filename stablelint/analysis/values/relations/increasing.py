"""Rows in which each element is larger than the one before: running sums of what is well above 0, and what keeps them so."""

from __future__ import annotations

from collections.abc import Mapping

from stablelint.analysis.values.indexing import parts_of
from stablelint.analysis.values.value import Kind, Value, believed
from stablelint.analysis.values.views import recast

_STEP = 1e-4  # a smaller one may be lost in the sum
_DEPTH = 8


def grown_between(operands: Mapping[str, Value]) -> list[Value] | None:
    """The numbers on which it rests that `c[..., 1:] - c[..., :-1]` is positive; None where c need not grow."""
    if not {"input", "other"} <= operands.keys():
        return None
    later, earlier = (recast(operands[name]) for name in ("input", "other"))
    if later.op != "index" or earlier.op != "index":
        return None
    row = later.operands["input"]
    if row.key != earlier.operands["input"].key:
        return None
    bounds = [_last_bounds(v.operands["index"], row) for v in (later, earlier)]
    return _rests_on(row, _DEPTH) if bounds == [(1, None), (None, -1)] else None


def _last_bounds(index: Value, row: Value) -> tuple[object, object] | None:
    """Where the slice of the last dimension starts and ends: `[..., 1:]`, or `[1:]` of what has no other."""
    parts = parts_of(index)
    if (len(parts) == 2 and parts[0].constant() is Ellipsis) or recast(row).op == "linspace":
        parts = parts[-1:]
    if len(parts) != 1 or parts[0].op != "slice":
        return None
    start, end, step = parts[0].data
    return (start.constant(), end.constant()) if step.kind is Kind.NONE else None


def _rests_on(row: Value, depth: int) -> list[Value] | None:
    """The numbers for which the elements of a row grow along its last dimension; None where nothing says so."""
    row = recast(row)
    parts = row.operands
    if not depth or row.first is None:
        return None
    if row.op == "linspace":
        low, high = (parts[name].constant() if name in parts else None for name in ("start", "end"))
        return [] if isinstance(low, int | float) and isinstance(high, int | float) and low < high else None
    if row.op in ("expand", "view") and _keeps_row(row):
        return _rests_on(row.first, depth - 1)
    if row.op == "cumsum":
        along = parts["dim"].constant() if "dim" in parts else None
        return [row.first] if along == -1 and believed(row.first).interval.lo >= _STEP else None
    if row.op == "pad":
        return _rests_on(row.first, depth - 1) if _puts_zero_first(parts) and _is_sum(row.first) else None
    if row.op == "overwritten":  # an end that is assigned what it is but for rounding
        place = parts_of(row.data)[-1].constant() if isinstance(row.data, Value) else None
        terms = _rests_on(row.first, depth - 1) if place in (0, -1) else None
        return [*terms, parts["value"]] if terms is not None and parts["value"].kind is Kind.NUMBER else None
    numbers = [v for v in parts.values() if v.kind is Kind.NUMBER or v.is_constant]
    rest = [v for v in parts.values() if v not in numbers]
    if row.op not in ("add", "mul") or len(numbers) != 1 or len(rest) != 1:
        return None
    terms = _rests_on(rest[0], depth - 1)
    grows = row.op == "add" or believed(numbers[0]).interval.lo > 0
    return [*terms, numbers[0]] if terms is not None and grows else None


def _keeps_row(view: Value) -> bool:
    """Whether a view leaves the last dimension as it is: `steps.view(1, -1)` of a single row, `rows.expand(n, -1)`."""
    size = [*view.operands.values()][-1]
    if size.kind is Kind.SEQUENCE and isinstance(size.data, list) and size.data:
        size = size.data[-1]
    is_row = view.first is not None and recast(view.first).op == "linspace"
    return size.constant() == -1 and (is_row or view.op == "expand")


def _is_sum(value: Value) -> bool:
    return recast(value).op == "cumsum"


def _puts_zero_first(operands: Mapping[str, Value]) -> bool:
    """Whether a pad puts one 0 before each row: `F.pad(c, (1, 0))`."""
    widths, fill = operands.get("pad"), operands.get("value")
    if widths is None or widths.kind is not Kind.SEQUENCE:
        return False
    return [v.constant() for v in widths.data] == [1, 0] and (fill is None or fill.constant() == 0)
