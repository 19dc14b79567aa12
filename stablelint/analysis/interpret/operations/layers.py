"""Instances of `nn` classes: what calling them does."""

from __future__ import annotations

import ast
from typing import Any

from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.statements.writing import written_into
from stablelint.analysis.values import lists
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attributes, Kind, Value, join, sized
from stablelint.records import dataclass, field, replace
from stablelint.syntax import operations
from stablelint.syntax.names import names_layer

CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
MODULE_METHODS = frozenset(
    "to type cuda cpu eval train requires_grad_ apply share_memory compile".split()
).union(CASTS)
# Arguments of constructors that count something.
_SIZES = frozenset(
    "in_features out_features in_channels out_channels num_embeddings embedding_dim normalized_shape".split()
)
_LOSSES = operations.having("loss")
CHANGING = frozenset({"append", "extend", "add_module", "register_module"})  # methods that add layers

REARRANGING = frozenset(
    {"insert", "pop", "clear", "update", "__setitem__", "__delitem__"}
)  # and that take them away


@dataclass(slots=True)
class Layer:
    """An `nn` object: one operation with its constructor's arguments, or a sequence of layers."""

    qualified: str
    operation: str | None = None
    arguments: dict[str, Value] = field(default_factory=dict)
    chain: list[Value] | None = None
    items: dict[Any, Value] = field(default_factory=dict)
    each: Value | None = None  # of a container of unknown length: what any of its layers can be
    last: Value | None = None  # and the last one, where that is known


def is_layer(qualified: str) -> bool:
    """Whether a qualified name is that of a class of `nn` whose instances compute, and do not only hold tensors."""
    name = qualified.rpartition(".")[2]
    holds = name in ("ParameterDict", "ParameterList", "PackedSequence")
    return qualified.startswith("torch.nn.") and name[:1].isupper() and not holds


def is_class_of_layers(value: Value) -> bool:
    """Whether a value is a class of torch's layers."""
    return value.kind is Kind.NAMESPACE and names_layer(value.data)


def make_layer(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The instance that `nn.Something(…)` makes."""
    name = qualified.rpartition(".")[2]
    if name == "Sequential":
        return _sequential(positional, keywords, node, frame)
    if name in ("ModuleList", "ModuleDict"):
        return _container(name, positional, node, frame)
    if name == "DataParallel" or name == "DistributedDataParallel":
        return positional[0] if positional else frame.graph.unknown(node=node)
    found = operations.module(qualified)
    layer = Layer(qualified, arguments={n: v for n, v in keywords.items() if n == "inplace"})
    if found is not None:
        layer.operation = found.name if found.name != "layer_output" else None
        layer.arguments = dict(zip(found.parameters, positional, strict=False)) | keywords
        for size in _SIZES.intersection(layer.arguments):
            value = layer.arguments[size]
            sized(value, value.name or _spelled(size, found.parameters, node))
    value = Value(
        "layer", frame.graph.fresh(), Kind.LAYER, node=node, module=frame.module, data=layer, name=name
    )
    value.operands = dict(layer.arguments)
    return value


def _spelled(parameter: str, parameters: tuple[str, ...], node: ast.Call) -> str:
    """The text of an argument, or the parameter's name where it does not stand in the call itself."""
    given = dict(zip(parameters, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
    return ast.unparse(given[parameter]) if parameter in given else parameter


def _sequential(positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    chain: list[Value] = []
    for position, value in enumerate(positional):
        grown = value.operands.get("list") if value.op == "starred" else None
        if grown is not None and grown.op == "phi" and position == len(positional) - 1:
            return _each_path(grown, positional[:-1], node, frame)
        chain.extend(_links(grown, frame) if grown is not None else [value])
    only = positional[0] if len(positional) == 1 else None
    if only is not None and only.op == "collections.OrderedDict" and only.first is not None:
        pairs = only.first.data if only.first.kind is Kind.SEQUENCE else []
        chain = [_link_of(pair, frame) for pair in pairs]
    if only is not None and only.kind is Kind.SEQUENCE and only.name != "list":
        chain = list(only.data)
    if only is not None and only.kind is Kind.MAPPING and isinstance(only.data, dict):
        chain = list(only.data.values())
    return _made("Sequential", Layer("torch.nn.Sequential", chain=chain), node, frame)


def _link_of(pair: Value, frame: Frame) -> Value:
    """The layer of `("name", layer)`."""
    named = pair.kind is Kind.SEQUENCE and len(pair.data) == 2
    return pair.data[1] if named else frame.graph.unknown("layer")


def _each_path(grown: Value, before: list[Value], node: ast.Call, frame: Frame) -> Value:
    """A Sequential of a list that differs between paths differs between them too."""
    made: list[Value] = []
    for path in grown.operands.values():
        starred = Value("starred", path.key, operands={"list": path})
        if path.kind is Kind.SEQUENCE:
            made.append(_sequential([*before, *path.data], {}, node, frame))
        else:
            made.append(_sequential([*before, starred], {}, node, frame))
    if "turn" in grown.operands:
        return made[-1]  # the loop that fills the list has a turn
    return join(frame.graph, made, grown.data)


def _links(grown: Value, frame: Frame) -> list[Value]:
    """A list of unknown length: something, then its last layer."""
    return [frame.graph.unknown("layers"), lists.last_of(grown) or frame.graph.unknown("layer")]


def _made(name: str, layer: Layer, node: ast.AST, frame: Frame) -> Value:
    value = Value(
        "layer", frame.graph.fresh(), Kind.LAYER, node=node, module=frame.module, data=layer, name=name
    )
    if frame.reporting and layer.chain is not None:
        frame.session.observe(value, frame)
    return value


def _container(name: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    layer = Layer(f"torch.nn.{name}")
    given = positional[0] if positional else None
    if given is not None and given.kind is Kind.SEQUENCE:
        layer.items = dict(enumerate(given.data))
    elif given is not None and given.kind is Kind.MAPPING and isinstance(given.data, dict):
        layer.items = dict(given.data)
    elif given is not None and lists.is_list(given):
        elements = lists.elements_of(given)
        layer.each = join(frame.graph, elements) if elements else frame.graph.unknown()
        layer.last = lists.last_of(given)
    elif given is not None:
        layer.each = frame.graph.unknown()
    return _made(name, layer, node, frame)


def summed(before: Value, after: Value, frame: Frame) -> Value | None:
    """The container that stands for one that grows from turn to turn; None where nothing grows."""
    one, two = before.data, after.data
    if one.operation is not None or one.qualified != two.qualified or after.node is None:
        return None
    if one.chain is not None or two.chain is not None:
        last = two.chain[-1] if two.chain else frame.graph.unknown("layer")
        return _made(
            after.name, Layer(one.qualified, chain=[frame.graph.unknown("layers"), last]), after.node, frame
        )
    each = [v for layer in (one, two) for v in ([layer.each] if layer.each else layer.items.values())]
    if not each:
        return None
    return _made(
        after.name, Layer(one.qualified, each=join(frame.graph, each), last=two.last), after.node, frame
    )


def distinct(containers: list[Value]) -> list[Value]:
    """Without those of which no more is known than of another: that something stands before the same last layer."""
    kept: dict[tuple[str, int], Value] = {}
    for value in containers:
        layer: Layer = value.data
        open_ended = layer.chain is not None and len(layer.chain) > 1 and layer.chain[0].op == "unknown"
        kept.setdefault((value.name, layer.chain[-1].key if open_ended and layer.chain else value.key), value)
    return list(kept.values())


def cast(value: Value, dtype: str | None, frame: Frame) -> Value:
    """A module whose parameters have another dtype; the module itself where none is named."""
    if dtype is None or dtype == value.dtype:
        return value
    data: Any = value.data
    if value.kind is Kind.INSTANCE:
        data = (data[0], _cast_attributes(data[1], dtype, frame))
    elif value.kind is Kind.LAYER:
        data = replace(data, items={n: cast(v, dtype, frame) for n, v in data.items.items()})
        data.chain = None if data.chain is None else [cast(v, dtype, frame) for v in data.chain]
        data.each = data.each and cast(data.each, dtype, frame)
        data.last = data.last and cast(data.last, dtype, frame)
    elif value.op != "parameter":
        return value
    return replace(value, key=frame.graph.key("cast", value.key, dtype), data=data, dtype=dtype)


def _cast_attributes(attributes: Attributes, dtype: str, frame: Frame) -> Attributes:
    made = Attributes()
    made.fill = lambda: made.update({n: cast(v, dtype, frame) for n, v in attributes.settled().items()})
    return made


def opaque(value: Value, frame: Frame) -> Value:
    """A layer of whose result nothing is known."""
    return replace(value, key=frame.graph.fresh(), data=Layer(value.data.qualified))


def known_elements(container: Value) -> list[Value] | None:
    """The layers of a Sequential or ModuleList in order, where each is known."""
    layer: Layer = container.data
    if layer.chain is not None:
        return [_held(one, container) for one in layer.chain]
    if layer.qualified != "torch.nn.ModuleList" or layer.each is not None or not layer.items:
        return None
    return [_held(one, container) for one in layer.items.values()]


def _held(layer: Value, container: Value) -> Value:
    """A layer of a container: where others may set the container, so may they the layer."""
    return replace(layer, assumed=True) if container.assumed else layer


def any_element(container: Value, frame: Frame) -> Value:
    """What one of a container's layers can be."""
    layer: Layer = container.data
    if layer.each is not None:
        return layer.each
    known = known_elements(container)
    return join(frame.graph, known) if known else frame.graph.unknown()


def element(base: Value, index: Any, frame: Frame) -> Value:
    """`layers[i]` of a Sequential or ModuleList."""
    return _held(_at(base.data, index) or frame.graph.unknown(), base)


def _at(layer: Layer, index: Any) -> Value | None:
    if layer.chain is not None and isinstance(index, int) and -len(layer.chain) <= index < len(layer.chain):
        return layer.chain[index]
    if layer.each is None and isinstance(index, int) and -len(layer.items) <= index < 0:
        return list(layer.items.values())[index]
    if index == -1 and layer.last is not None:
        return layer.last
    return layer.items.get(index) if layer.each is None else layer.each


def grown(
    container: Value, method: str, positional: list[Value], node: ast.Call, frame: Frame
) -> Value | None:
    """The container after `append`, `extend` or `add_module`; None where the method is none of them."""
    layer: Layer = container.data
    if method not in CHANGING or layer.operation is not None or not positional:
        return None
    added = positional[-1]
    new = list(added.data) if method == "extend" and added.kind is Kind.SEQUENCE else [added]
    unknown = method == "extend" and added.kind is not Kind.SEQUENCE
    known = known_elements(container) if layer.items or layer.chain is not None else []
    if layer.each is not None:
        known = None
    if known is not None and not unknown and frame.loop_depth == 0:
        result = replace(layer, items={})
        if layer.chain is not None:
            result.chain = [*known, *new]
        else:
            result.items = dict(enumerate([*known, *new]))
        return _made(container.name, result, node, frame)
    last = None if unknown or not new else new[-1]
    if layer.chain is not None:
        chain = [frame.graph.unknown("layers"), last or frame.graph.unknown("layer")]
        return _made(container.name, Layer(layer.qualified, chain=chain), node, frame)
    before = [layer.each] if layer.each is not None else list(layer.items.values())
    each = join(frame.graph, [*before, *([frame.graph.unknown()] if unknown else new)])
    return _made(container.name, Layer(layer.qualified, each=each, last=last), node, frame)


def call_layer(
    target: Value, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The value of applying a layer, which may write it into what it is given."""
    layer: Layer = target.data
    if layer.chain is not None:
        return _call_chain(layer.chain, positional, node, frame)
    result = _applied(target, positional, keywords, node, frame)
    asked = layer.arguments.get("inplace")
    if asked is not None and asked.constant() is not False and positional:
        written_into(positional[0], result, frame)
    return result


def _applied(
    target: Value, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    layer: Layer = target.data
    if not positional and not keywords:
        return frame.graph.unknown(node=node)
    operands = {"input": positional[0]} if positional else {}
    if layer.operation is None:
        if layer.qualified in ("torch.nn.ModuleList", "torch.nn.ModuleDict"):
            return frame.graph.unknown(node=node)
        given = Value(
            "layer_output", frame.graph.fresh(), Kind.TENSOR, {**operands, "layer": target}, node=node,
            module=frame.module, name=target.name,
        )  # fmt: skip
        return frame.observed(given)
    if layer.operation in ("linear_module", "norm_module"):
        return apply(layer.operation, {**operands, "layer": target}, node, frame)
    operation, made = operations.canonical(layer.operation), operations.module(layer.qualified)
    parameters = operation.parameters if operation is not None else ("input",)
    if (
        layer.operation in _LOSSES
        and made
        and len(positional) > len(set(parameters).difference(made.parameters))
    ):
        return frame.graph.unknown(node=node)  # another loss is called here: this one would raise
    if not operands or layer.operation not in ("dropout", "identity"):
        operands = dict(zip(parameters, positional, strict=False)) | keywords | layer.arguments
    result = apply(layer.operation, operands, node, frame)
    if target.module is not frame.module and result.node is node:
        result.data = target  # where it was made, which the call does not show
    return result


def _call_chain(chain: list[Value], positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    reporting, frame.reporting = frame.reporting, False
    try:
        value = positional[0] if positional else frame.graph.unknown(node=node)
        for link in chain:
            if value.node is node:
                value.node = None  # within the chain: no expression of the file yields it
            value = frame.session.interpreter.call(link, [value], {}, node, frame)
            if value.link is None and value.node is node and link.kind is Kind.LAYER:
                value.link = link
    finally:
        frame.reporting = reporting
    if reporting and value.op in ("linear_module", "layer_output", "norm_module"):
        frame.session.observe(value, frame)
    return value
