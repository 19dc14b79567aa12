"""Where two paths of a program meet: what holds on both."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TypeVar

from stablelint.analysis.values.paths import NEITHER, Paths, Usual
from stablelint.analysis.values.state import State
from stablelint.analysis.values.value import NONEMPTY, Graph, Value, join, restricted
from stablelint.numerics.interval import Interval

_Key = TypeVar("_Key", bound=Hashable)


def merge(graph: Graph, left: State, right: State, where: int = 0, usual: Usual = NEITHER) -> State:
    """What holds where two paths of the function `where` meet.

    `usual` tells whether the defaults of parameters lead along the left one or along the right one.
    """
    if left.dead:
        return right
    if right.dead:
        return left
    merged = State(gradient=left.gradient, autocast=left.autocast)
    merged.tests = {k: v for k, v in left.tests.items() if right.tests.get(k) is v}
    tests = tuple({k: v for k, v in s.tests.items() if k not in merged.tests} for s in (left, right))
    paths = Paths(where, tests, *usual.places)
    merged.names = names = dict(left.names)
    find = names.get
    for name in [name for name, value in right.names.items() if find(name) is not value]:
        names[name] = _meet_paths(graph, left, find(name), right, right.names[name], paths)
    merged.attributes = attributes = dict(left.attributes)
    if attributes != right.attributes:
        for place in attributes.keys() | right.attributes.keys():
            one, two = left.attributes.get(place), right.attributes.get(place)
            if one is not None and two is not None:
                attributes[place] = _meet_paths(graph, left, one, right, two, paths)
            else:
                attributes[place] = graph.unknown(place[1])
    merged.facts = _joined(left.facts, right.facts)
    merged.supposed = {k: belief for k, belief in left.supposed.items() if right.supposed.get(k) == belief}
    merged.gaps = _joined(left.gaps, right.gaps)
    merged.nonempty = left.nonempty & right.nonempty
    merged.selecting = left.selecting & right.selecting
    merged.plural = left.plural & right.plural
    return merged


def _joined(left: dict[_Key, Interval], right: dict[_Key, Interval]) -> dict[_Key, Interval]:
    """What both paths know of a value, or of a difference."""
    if left == right:
        return left
    return {key: left[key].join(right[key]) for key in left.keys() & right.keys()}


def _meet_paths(graph: Graph, left: State, a: Value | None, right: State, b: Value, paths: Paths) -> Value:
    if a is None:
        return b  # the other path did not bind it: using it there would be a NameError
    if a is b or a.key == b.key:
        return a
    return join(graph, [_narrowed(graph, left, a), _narrowed(graph, right, b)], paths)


def _narrowed(graph: Graph, state: State, value: Value) -> Value:
    """The value with the path's facts made its own, so that a join keeps them."""
    interval = state.effective(value)
    told = state.supposing(value)
    if told is not value:
        key = graph.key("supposed", value.key, told.belief.interval if told.belief is not None else None)
        value = replace(told, key=key, origin=value.origin | {value.key})
    if value.op in ("index", "masked_select") and value.key in state.nonempty:
        value = replace(value, guard=NONEMPTY)
    if interval == value.interval:
        return value
    key = graph.key("narrowed", value.key, interval)
    return restricted(value, key, interval, value.guard or "branch")
