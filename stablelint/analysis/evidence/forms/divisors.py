"""Divisors that come to 0 by what they are, though nothing is known of their range."""

from __future__ import annotations

import ast
import re

from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

_GRID = re.compile(r"(^|_)(grid|knots?|nodes|ticks|abscissae?)(_|$)")
_WINDOW = re.compile(r"^(?!pretrained)(.*_)?win(dow)?_?size$")  # a window that was trained with had its size
_RUNNING = re.compile(r"(^|_)(running|moving)_(var|variance|std)$")
_JOINED = frozenset("cat stack sqrt".split())
_DEPTH = 4  # operations looked through


def is_step(value: Value) -> bool:
    """`grid[1:] - grid[:-1]`, or its first step alone: two points of a grid that a caller hands over may be equal."""
    value = stripped(value)
    ends = list(map(stripped, value.operands.values())) if value.op == "sub" else []
    if len(ends) != 2 or any(end.op != "index" or end.first is None for end in ends):
        return False
    whole = [stripped(end.operands["input"]) for end in ends]
    if whole[0].key != whole[1].key or whole[0].kind is Kind.NUMBER or not _is_handed_over(whole[0]):
        return False
    if not any(_GRID.search(v.name) for v in behind(whole[0], lambda _: False)):
        return False
    places = [_last(end.operands["index"]) for end in ends]
    if [place.op for place in places] == ["slice", "slice"]:
        return _bounds(places[0]) == (1, None) and _bounds(places[1]) == (None, -1)
    return [place.constant() for place in places] == [1, 0]


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


def _last(index: Value) -> Value:
    if index.op == "slice" or index.kind is not Kind.SEQUENCE or not index.data:
        return index
    last = index.data[-1]
    return last if isinstance(last, Value) else index


def _bounds(slice_: Value) -> tuple[object, object]:
    start, stop = slice_.data[:2]
    return start.constant(), stop.constant()


def _is_handed_over(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is an argument, or an element of one: nothing here has computed it."""
    if value.op in ("index", "item", "part") and depth and value.first is not None:
        return _is_handed_over(stripped(value.first), depth - 1)
    if value.op == "phi" and depth:
        return any(_is_handed_over(stripped(path), depth - 1) for path in value.operands.values())
    return value.op in HANDED_OVER


def is_inside_of_window(value: Value) -> bool:
    """`window_size - 1`: a window is no larger than what it looks at, which may be a single element."""
    value = stripped(value)
    if value.op != "sub" or value.operands["other"].constant() != 1:
        return False
    size = value.operands["input"]
    names = [size.name, *(n.attr for n in _walk(size) if isinstance(n, ast.Attribute))]
    names += [n.id for n in _walk(size) if isinstance(n, ast.Name)]
    return any(map(_WINDOW.search, names))


def is_running_spread(value: Value) -> bool:
    """What a layer keeps as a running variance is 0 for a channel that is dead, and nothing lifts it."""
    for _ in range(_DEPTH):
        value = stripped(value)
        if _RUNNING.search(value.name):
            return True
        following = value.operands.get("tensors", value.first) if value.op in _JOINED else None
        if following is None:
            return False
        if following.kind is Kind.SEQUENCE and following.data:
            following = following.data[0]
        value = following
    return False


def _walk(value: Value) -> list[ast.AST]:
    return list(descendants(value.node)) if value.node is not None else []
