"""Elements and selections: `base[index]`, and the sizes that a shape holds."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable

from stablelint.analysis.interpret import layers, lookup
from stablelint.analysis.interpret.apply import apply
from stablelint.analysis.interpret.conditions import narrowed_by, picks_something
from stablelint.analysis.values import hints
from stablelint.analysis.values.decompositions import part_at
from stablelint.analysis.values.indexing import adds_dimensions, keeps_all
from stablelint.analysis.values.selections import selector
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Ground, Kind, Value, join
from stablelint.analysis.values.views import stripped
from stablelint.numerics.interval import interned


def subscript(base: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """`base[index]`: an element of a sequence, a selection of a tensor, a shape's size."""
    constant = index.constant()
    if (
        base.kind is Kind.SEQUENCE
        and isinstance(constant, int)
        and -len(base.data) <= constant < len(base.data)
    ):
        element: Value = base.data[constant]
        return element
    if base.kind is Kind.MAPPING and isinstance(base.data, dict) and constant in base.data:
        found: Value = base.data[constant]
        return found
    if base.kind is Kind.MAPPING and isinstance(base.data, dict) and constant is None and base.data:
        values = list(base.data.values())
        if all(v.is_constant and v.kind is Kind.NUMBER for v in values):
            return join(frame.graph, values)
    if base.op == "shape":
        return size_of(base.operands["input"], node, frame)
    if base.kind in (Kind.STRING, Kind.FOREIGN):
        return frame.graph.foreign(node)
    if base.op in ("amax", "amin", "median") and "dim" in base.operands and constant == 0:
        return base  # values, indices = x.max(dim)
    if isinstance(constant, int) and (part := part_at(base, constant, node, frame)) is not None:
        return part
    if base.kind is Kind.LAYER:
        return layers.element(base, constant, frame)
    if base.kind is Kind.UNKNOWN and isinstance(constant, int) and hints.names_a_size(base.name):
        key = frame.graph.key("item", base.key, index.key)
        return Value("item", key, Kind.NUMBER, node=node, module=frame.module)
    if base.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.NUMBER):
        stored = frame.state.attributes.get((base.key, f"[{index.key}]"))
        if stored is not None:
            return stored
        if base.kind is Kind.UNKNOWN and index.kind is Kind.STRING:
            key = frame.graph.key("item", base.key, index.key)
            return lookup.hinted(
                Value("item", key, node=node, module=frame.module, name=str(index.data)), frame
            )
        if base.kind is Kind.TENSOR and keeps_all(index):
            if adds_dimensions(index):
                return apply("unsqueeze", {"input": base, "dim": index}, node, frame)
            return apply("view", {"input": base}, node, frame)
        mask = index.op not in ("const", "slice") and index.kind is not Kind.SEQUENCE
        known = narrowed_by(index, True, base, frame) if mask else frame.state.effective(base)
        selected = lookup.narrowed_value(base, known, frame)
        chosen = apply("index", {"input": selected, "index": index}, node, frame)
        if mask and picks_something(index, frame.state):
            frame.state.nonempty |= {index.key, chosen.key}
        elif mask and frame.state.nonempty and stripped(selector(index)).key in frame.state.nonempty:
            frame.state.nonempty |= {chosen.key}
        return chosen
    return frame.graph.unknown(node=node)


def _spelled(part: object) -> Hashable:
    """What tells one index from another in the text."""
    if isinstance(part, list):
        return tuple(map(_spelled, part))
    if not isinstance(part, ast.AST):
        return type(part), part
    if isinstance(part, ast.Name):
        return part.id
    return type(part), *(_spelled(getattr(part, name)) for name in part._fields)


def size_of(tensor: Value, node: ast.AST, frame: Frame) -> Value:
    """A tensor's size: at least 1, unless the tensor is a selection that can be empty."""
    selected = tensor.op in ("masked_select", "nonzero") or (
        tensor.op == "index" and tensor.operands["index"].dtype == "bool"
    )
    low = 0.0 if selected and tensor.key not in frame.state.nonempty else 1.0
    key = frame.graph.key("size_at", tensor.key, _spelled(node))
    zero = Ground.EXACT if low == 0.0 else Ground.NONE
    interval = interned(low, math.inf, False, True, False, False, True)
    return Value(
        "size",
        key,
        Kind.NUMBER,
        {"input": tensor},
        interval,
        zero,
        Ground.EXACT if low == 0.0 else Ground.COINCIDENCE,
        node=node,
        module=frame.module,
    )
