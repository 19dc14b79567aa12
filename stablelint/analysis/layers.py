"""Instances of `nn` classes: what calling them does."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from stablelint.analysis.apply import apply
from stablelint.analysis.state import Frame
from stablelint.analysis.value import Kind, Value
from stablelint.syntax import operations


@dataclass(slots=True)
class Layer:
    """An `nn` object: one operation with its constructor's arguments, or a sequence of layers."""

    qualified: str
    operation: str | None = None
    arguments: dict[str, Value] = field(default_factory=dict)
    chain: list[Value] | None = None
    items: dict[Any, Value] = field(default_factory=dict)


def make_layer(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The instance that `nn.Something(…)` makes."""
    name = qualified.rpartition(".")[2]
    if name == "Sequential":
        return _sequential(positional, keywords, node, frame)
    if name in ("ModuleList", "ModuleDict"):
        return _container(positional, node, frame)
    if name == "DataParallel" or name == "DistributedDataParallel":
        return positional[0] if positional else frame.graph.unknown(node=node)
    found = operations.module(qualified)
    layer = Layer(qualified)
    if found is not None:
        layer.operation = found.operation
        layer.arguments = dict(zip(found.parameters, positional, strict=False)) | keywords
    value = Value(
        "layer", frame.graph.fresh(), Kind.LAYER, node=node, module=frame.module, data=layer, name=name
    )
    value.operands = dict(layer.arguments)
    return value


def _sequential(positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    chain: list[Value] | None = list(positional)
    if len(positional) == 1 and positional[0].kind is Kind.SEQUENCE and positional[0].name != "list":
        chain = list(positional[0].data)
    if len(positional) == 1 and positional[0].kind is Kind.MAPPING and isinstance(positional[0].data, dict):
        chain = list(positional[0].data.values())
    if chain is not None and any(v.name == "starred" and v.kind is Kind.UNKNOWN for v in chain[-1:]):
        chain = None  # the last layer is not known
    layer = Layer("torch.nn.Sequential", chain=chain)
    return Value(
        "layer",
        frame.graph.fresh(),
        Kind.LAYER,
        node=node,
        module=frame.module,
        data=layer,
        name="Sequential",
    )


def _container(positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    layer = Layer("torch.nn.ModuleList")
    if positional and positional[0].kind is Kind.SEQUENCE:
        layer.items = dict(enumerate(positional[0].data))
    if positional and positional[0].kind is Kind.MAPPING and isinstance(positional[0].data, dict):
        layer.items = dict(positional[0].data)
    return Value(
        "layer",
        frame.graph.fresh(),
        Kind.LAYER,
        node=node,
        module=frame.module,
        data=layer,
        name="ModuleList",
    )


def element(base: Value, index: Any, frame: Frame) -> Value:
    """`layers[i]` of a Sequential or ModuleList."""
    layer: Layer = base.data
    if layer.chain is not None and isinstance(index, int) and -len(layer.chain) <= index < len(layer.chain):
        return layer.chain[index]
    return layer.items.get(index) or frame.graph.unknown()


def call_layer(
    target: Value, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The value of applying a layer."""
    layer: Layer = target.data
    if layer.chain is not None:
        return _call_chain(layer.chain, positional, node, frame)
    if layer.operation is None:
        return (
            Value(
                "layer_output",
                frame.graph.fresh(),
                Kind.TENSOR,
                node=node,
                module=frame.module,
                name=target.name,
            )
            if (layer.qualified != "torch.nn.ModuleList")
            else frame.graph.unknown(node=node)
        )
    if layer.operation in ("linear_module", "norm_module"):
        operands = {"input": positional[0]} if positional else {}
        return apply(layer.operation, {**operands, "layer": target}, node, frame)
    operation = operations.canonical(layer.operation)
    parameters = operation.parameters if operation is not None else ("input",)
    operands = dict(zip(parameters, positional, strict=False)) | keywords | layer.arguments
    if layer.operation == "dropout" or layer.operation == "identity":
        operands = {"input": positional[0]} if positional else operands
    result = apply(layer.operation, operands, node, frame)
    return result


def _call_chain(chain: list[Value], positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    from stablelint.analysis.calls import call_value

    reporting, frame.reporting = frame.reporting, False
    try:
        value = positional[0] if positional else frame.graph.unknown(node=node)
        for link in chain:
            if value.node is node:
                value.node = None  # within the chain: no expression of the file yields it
            value = call_value(link, [value], {}, node, frame)
    finally:
        frame.reporting = reporting
    return value
