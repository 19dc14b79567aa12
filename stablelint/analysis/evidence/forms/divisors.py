"""Divisors that come to 0 by what they are, though nothing is known of their range."""

from __future__ import annotations

from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped

_JOINED = frozenset("cat stack sqrt".split())


def is_growth(value: Value) -> bool:
    """`cdf.gather(-1, above) - cdf.gather(-1, below)`: a cumulative sum does not grow where nothing is added."""
    value = stripped(value)
    ends = list(map(stripped, value.operands.values())) if value.op == "sub" else []
    if len(ends) != 2 or ends[0].key == ends[1].key:
        return False
    totals = [_gathered(end) for end in ends]
    if None in totals or len({total.key for total in totals if total is not None}) != 1:
        return False
    return any(v.op == "cumsum" for total in totals[:1] if total is not None for v in _joined(total))


def _gathered(end: Value) -> Value | None:
    """What an element was gathered from, as one end of several perhaps."""
    while end.op in ("index", "part") and end.first is not None:
        end = stripped(end.first)
    return stripped(end.first) if end.op == "gather" and end.first is not None else None


def _joined(total: Value) -> list[Value]:
    """A value, and what it was put together of, as with a 0 in front."""
    parts = total.operands.values() if total.op in _JOINED else ()
    inner = [part for v in parts for part in (v.data if v.kind is Kind.SEQUENCE and v.data else [v])]
    return [total, *(stripped(part) for part in inner if isinstance(part, Value))]
