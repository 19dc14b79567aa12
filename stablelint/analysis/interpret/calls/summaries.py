"""What is remembered of a call, so that a function is not interpreted anew for each caller.

Two calls whose arguments look alike, though they are different values, run through the same body to the same end. Where
that end says nothing (an unknown tensor, no range, no form that a rule speaks of), the next call is answered with a
value of the same sort and an identity of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from stablelint.analysis.interpret.operations.layers import Layer
from stablelint.analysis.values.lists import CALLABLE
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attributes, Kind, Value
from stablelint.analysis.values.views import is_opaque
from stablelint.numerics.interval import TOP
from stablelint.syntax.operations import VIEWS, having

Profile = Hashable

_DEPTH = 4
_LENGTH = 12
_MUTE = having("given", "layer", "product", "join") | set(
    "index embedding dropout instance list_of mapping text contains slice".split()
)
# What says where a value comes from, whatever went in.
_MADE_AGAIN = having("layer") | {"list_of"}
_NEEDS_MUTE_OPERANDS = VIEWS | having("pick") | {"phi", "add", "mul"}
_ALIKE = frozenset({Kind.STRING, Kind.NONE, Kind.FOREIGN})
_BY_KEY = frozenset({Kind.CLASS, Kind.NAMESPACE})


def profile(arguments: Mapping[str, Value], receiver: Value | None, frame: Frame) -> Profile | None:
    """What of a call's arguments decides its result, apart from their identity; None where that cannot be told."""
    order: dict[int, int] = {}
    parts: list[Profile] = []
    if receiver is not None:
        if any(base == receiver.key for base, _ in frame.state.attributes):
            return None
        shape = _shape(receiver, order, frame, _DEPTH)
        if shape is None:
            return None
        parts.append(shape)
    for name, value in arguments.items():
        shape = _shape(value, order, frame, _DEPTH)
        if shape is None:
            return None
        parts.append((name, shape))
    return (frame.state.gradient, frame.state.autocast, *parts)


def _shape(value: Value, order: dict[int, int], frame: Frame, depth: int) -> Profile | None:
    if value.op == "const":
        return ("const", type(value.data).__name__, repr(value.data), value.belief)
    alias = order.setdefault(value.key, len(order))
    kind = value.kind
    if kind in _ALIKE:
        return (kind, alias)
    if kind in _BY_KEY:
        return (kind, value.key)
    if kind is Kind.FUNCTION:
        return (kind, value.key) if value.data.closure is None else None
    if kind is Kind.INSTANCE:
        made = frame.session.made.get(value.key)
        return (kind, id(value.data[0]), made, alias) if made is not None else None
    if kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.LAYER):
        return _parts(value, order, frame, depth, alias)
    if value.op == "partial" or any(v.kind in CALLABLE for v in value.operands.values()):
        return None
    fact = frame.state.effective(value)
    return (
        kind,
        value.op,
        fact,
        value.zero,
        value.ends,
        value.dtype,
        value.guard,
        value.belief,
        value.name,
        alias,
    )


def _parts(value: Value, order: dict[int, int], frame: Frame, depth: int, alias: int) -> Profile | None:
    data = value.data
    if isinstance(data, Layer):
        named: dict[Any, Value] = {**data.items, **data.arguments}
        named.update({n: v for n, v in (("each", data.each), ("last", data.last)) if v is not None})
        if data.chain is not None:
            named = dict(enumerate(data.chain))
        head: Profile = (data.qualified, alias)
    elif isinstance(data, dict):
        named, head = data, (value.kind, alias)
    elif isinstance(data, list):
        named, head = dict(enumerate(data)), (value.kind, alias)
    else:
        return (value.kind, alias)
    if depth == 0 or len(named) > _LENGTH:
        return None
    shapes = [(key, _shape(part, order, frame, depth - 1)) for key, part in named.items()]
    return None if any(shape is None for _, shape in shapes) else (head, *shapes)


def says_nothing(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a result carries neither a range nor a form that a rule could speak of."""
    if value.op == "const" or value.kind in _ALIKE:
        return True
    if value.kind is Kind.SEQUENCE:
        return (
            depth > 0 and len(value.data) <= _LENGTH and all(says_nothing(v, depth - 1) for v in value.data)
        )
    if value.kind is Kind.INSTANCE:
        return depth > 0 and all(says_nothing(v, depth - 1) for v in value.data[1].settled().values())
    if value.kind is Kind.MAPPING:
        items = value.data.values() if isinstance(value.data, dict) else ()
        return depth > 0 and all(says_nothing(v, depth - 1) for v in items)
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN, Kind.NUMBER):
        return False
    if value.interval != TOP or value.dtype == "bool" or value.op == "partial" or value.belief is not None:
        return False
    if value.op in ("list_of", "phi") and any(v.kind in CALLABLE for v in value.operands.values()):
        return False
    if value.op in _MUTE or is_opaque(value):
        return True
    if value.op not in _NEEDS_MUTE_OPERANDS or depth == 0:
        return False
    return all(
        v.op != "const" and says_nothing(v, depth - 1)
        for v in value.operands.values()
        if v.kind is not Kind.NONE
    )


def renewed(value: Value, node: ast.AST | None, frame: Frame) -> Value:
    """A value of the same sort with an identity of its own."""
    graph = frame.graph
    if value.op == "const" or value.kind in _BY_KEY or value.kind is Kind.FUNCTION:
        return value
    data: Any = value.data
    if value.kind is Kind.SEQUENCE:
        elements = graph.sequence([renewed(v, node, frame) for v in value.data], node)
        elements.name = value.name
        return elements
    if value.kind is Kind.INSTANCE:
        data = (value.data[0], _renewed_attributes(value.data[1], node, frame))
    elif value.kind is Kind.MAPPING and isinstance(value.data, dict):
        data = {name: renewed(v, node, frame) for name, v in value.data.items()}
    elif isinstance(value.data, Layer):
        data = _renewed_layer(value.data, node, frame)
    fresh = replace(value, key=graph.fresh(), data=data)
    if value.kind is Kind.INSTANCE and value.key in frame.session.made:
        frame.session.made[fresh.key] = frame.session.made[value.key]
    return fresh


def _renewed_attributes(attributes: Attributes, node: ast.AST | None, frame: Frame) -> Attributes:
    """Attributes that are made anew once one is asked for: objects may refer to each other in a circle."""
    made = Attributes()

    def fill() -> None:
        made.update({name: renewed(v, node, frame) for name, v in attributes.settled().items()})

    made.fill = fill
    frame.session.constructed.append(made)
    return made


def _renewed_layer(layer: Layer, node: ast.AST | None, frame: Frame) -> Layer:
    chain = None if layer.chain is None else [renewed(link, node, frame) for link in layer.chain]
    items = {name: renewed(item, node, frame) for name, item in layer.items.items()}
    return replace(layer, chain=chain, items=items)


def answered(value: Value, node: ast.AST | None, frame: Frame) -> Value:
    """What a call yields that ends as another did, whose result says nothing."""
    if value.op == "const":
        return value
    if value.kind is Kind.SEQUENCE:
        elements = frame.graph.sequence([answered(v, node, frame) for v in value.data], node)
        elements.name = value.name
        return elements
    if value.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.NUMBER):
        op = value.op if value.op in _MADE_AGAIN else "unknown"
        key = frame.graph.fresh()
        zero, ends = value.zero, value.ends
        return Value(op, key, value.kind, zero=zero, ends=ends, dtype=value.dtype, node=node, name=value.name)
    return renewed(value, node, frame)
