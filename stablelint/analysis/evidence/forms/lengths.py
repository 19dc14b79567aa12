"""The length of a vector, written out in its components: the root of `x ** 2 + y ** 2`."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.relations import contracted_with_itself
from stablelint.analysis.values.squares import root_of
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped

_DEPTH = 4  # sums looked into
_MADE = frozenset(
    "linear_module norm_module layer_output linear conv1d conv2d conv3d embedding parameter exp softmax sigmoid softplus "
    "rsample".split()
)
_PLANES = frozenset({"real", "imag"})
_CHANNELS = frozenset("index part split chunk unbind".split())
_FILTERS = frozenset("diff conv1d conv2d conv3d".split())


def is_squared_length(value: Value) -> bool:
    """The sum of the squares of a vector's components, of an offset's, or of the slopes of a signal.

    It is 0 where the vector is, where two points agree, or where the signal is flat.
    """
    if (contracted := contracted_with_itself(stripped(value))) is not None:
        return not _is_made(contracted)
    roots = [root_of(term) for term in _terms(value)]
    if len(roots) < 2 or any(root is None for root in roots):
        return False
    components = [stripped(root) for root in roots if root is not None]
    if _are_slopes(components):
        return True
    if all(c.op == "sub" and len(c.operands) == 2 for c in components):
        ends = [_vector_of([list(c.operands.values())[side] for c in components]) for side in (0, 1)]
        return None not in ends
    vector = _vector_of([root for root in roots if root is not None])
    return vector is not None and not _is_made(vector)


def _terms(value: Value, depth: int = _DEPTH) -> Iterator[Value]:
    value = stripped(value)
    if depth and value.op == "add" and len(value.operands) == 2:
        for part in value.operands.values():
            yield from _terms(part, depth - 1)
    else:
        yield value


def _are_slopes(components: list[Value]) -> bool:
    """Whether these are the differences of one signal along several axes: all are 0 where it is flat."""
    signals = [_signal_of(component) for component in components]
    first = signals[0]
    if first is None or any(signal is None or signal.key != first.key for signal in signals):
        return False
    return len({component.key for component in components}) == len(components) and not _is_made(first)


def _signal_of(slope: Value) -> Value | None:
    """What a value is the difference of neighbours of, or filtered from, as one channel of several, say."""
    filtered = slope
    while filtered.op in _CHANNELS and filtered.first is not None:
        filtered = stripped(filtered.first)
    if filtered.op in _FILTERS:
        slope = filtered
    if slope.op in _FILTERS and slope.first is not None:
        return stripped(slope.first)
    ends = [stripped(v) for v in slope.operands.values()] if slope.op == "sub" else []
    if len(ends) != 2 or any(end.op != "index" or end.first is None for end in ends):
        return None
    whole = [stripped(end.operands["input"]) for end in ends]
    return whole[0] if whole[0].key == whole[1].key and ends[0].key != ends[1].key else None


def _vector_of(components: list[Value]) -> Value | None:
    """The vector of which these are different components, or the complex number of which they are both parts."""
    placed = [_component(component) for component in components]
    vectors = {found[0].key: found[0] for found in placed if found is not None}
    places = {found[1] for found in placed if found is not None}
    if None in placed or len(vectors) != 1 or len(places) != len(components):
        return None
    return next(iter(vectors.values()))


def _component(value: Value) -> tuple[Value, Hashable] | None:
    """A vector and the place of a component in it: `v[..., 0]`, a part of `v.unbind(-1)`, `z.real`."""
    plane = _plane(value)
    value = stripped(value)
    if plane is not None:
        return (stripped(value.first) if value.op.endswith(plane) and value.first else value), plane
    index = value.operands.get("index")
    if value.op == "part" and value.first is not None and value.first.first is not None:
        source = stripped(value.first)
        return source, value.key
    if value.op != "index" or index is None or value.first is None:
        return None
    last = index.data[-1] if index.kind is Kind.SEQUENCE and index.data else index
    place = last.constant()
    return (stripped(value.first), place) if isinstance(place, int) else None


def _plane(value: Value) -> str | None:
    """Which part of a complex number a value is."""
    while True:
        name = value.op.rpartition(".")[2]
        if name not in _PLANES and isinstance(value.node, ast.Attribute):
            name = value.node.attr
        if name in _PLANES:
            return name
        inner = value.first
        if inner is None or stripped(value).key == value.key:
            return None
        value = inner


def _is_made(value: Value) -> bool:
    """Whether a network, a draw or a call yields the elements of a value, which ordinary data do not make 0 all at once."""
    parts = behind(value, lambda v: v.op in _MADE or v.kind is Kind.INSTANCE)
    return any(v.op in _MADE or v.op in DRAWN or v.op.startswith(("call.", "method.")) for v in parts)
