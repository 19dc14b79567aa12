"""Calls: operations in any spelling, layers, functions of the project, builtins."""

from __future__ import annotations

import ast

from stablelint.analysis import classes, layers
from stablelint.analysis.functions import call_named
from stablelint.analysis.methods import call_method
from stablelint.analysis.modules import ClassInfo, FunctionInfo
from stablelint.analysis.state import Frame
from stablelint.analysis.value import Kind, Value


def evaluate_call(node: ast.Call, frame: Frame) -> Value:
    """The value of a call."""
    from stablelint.analysis.expressions import evaluate

    if isinstance(node.func, ast.Attribute):
        receiver = evaluate(node.func.value, frame)
        return _call_attribute(receiver, node.func.attr, node, frame)
    return call_value(evaluate(node.func, frame), *arguments_of(node, frame), node, frame)


def arguments_of(node: ast.Call, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
    """Positional and keyword arguments; a starred one of unknown length ends the positional ones."""
    from stablelint.analysis.expressions import evaluate

    positional: list[Value] = []
    for argument in node.args:
        value = evaluate(argument, frame)
        if isinstance(argument, ast.Starred):
            if value.kind is Kind.SEQUENCE:
                positional.extend(value.data)
            else:
                positional.append(frame.graph.unknown("starred", argument))
        else:
            positional.append(value)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif value.kind is Kind.MAPPING and isinstance(value.data, dict):
            keywords.update({k: v for k, v in value.data.items() if isinstance(k, str)})
        elif value.op == "const" and value.data is Ellipsis:
            keywords["..."] = value  # a pattern's "any further arguments"
    return positional, keywords


def _call_attribute(receiver: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    from stablelint.analysis.lookup import attribute

    if receiver.kind in (Kind.NAMESPACE, Kind.INSTANCE, Kind.CLASS, Kind.LAYER):
        if receiver.op == "super":
            return _super_call(receiver, attr, node, frame)
        target = attribute(receiver, attr, node.func, frame)
        positional, keywords = arguments_of(node, frame)
        bound_to = receiver if receiver.kind is Kind.INSTANCE else None
        if bound_to is not None and target.kind is not Kind.FUNCTION:
            if classes.register(receiver, attr, positional, keywords, frame):
                return frame.graph.constant(None, node)
        if receiver.kind is Kind.LAYER and attr == "forward":
            return layers.call_layer(receiver, positional, keywords, node, frame)
        if receiver.kind is Kind.LAYER:
            return _layer_method(receiver, attr, node, frame)
        return call_value(target, positional, keywords, node, frame, bound_to)
    positional, keywords = arguments_of(node, frame)
    stored = frame.state.attributes.get((receiver.key, attr))
    if stored is not None:
        return call_value(stored, positional, keywords, node, frame)
    return call_method(receiver, attr, positional, keywords, node, frame)


def _layer_method(receiver: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    if attr in ("to", "cuda", "cpu", "half", "float", "double", "eval", "train", "requires_grad_", "apply"):
        return receiver
    return frame.graph.unknown(attr, node)


def _super_call(receiver: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    from stablelint.analysis.inline import call_function, run_function

    info, instance = receiver.data
    bases = list(classes.ancestors(info, frame))[1:]
    function = next((c.methods[attr] for c in bases if attr in c.methods), None)
    positional, keywords = arguments_of(node, frame)
    if function is None or instance is None:
        return frame.graph.unknown(attr, node)
    if attr == "__init__":
        from stablelint.analysis.inline import bind_arguments

        inner = run_function(
            function, bind_arguments(function, positional, keywords, instance), instance, frame
        )
        if inner is not None:
            own = classes.set_on(instance, inner)
            frame.state.attributes.update({(instance.key, attr): v for attr, v in own.items()})
            instance.data[1].update({attr: v for attr, v in own.items() if attr not in instance.data[1]})
        return frame.graph.constant(None, node)
    return call_function(function, positional, instance, node, frame, keywords)


def call_value(
    target: Value,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
    receiver: Value | None = None,
) -> Value:
    """Calls whatever `target` is."""
    from stablelint.analysis.inline import call_function, takes_receiver

    if target.kind is Kind.NAMESPACE:
        return call_named(target.data, positional, keywords, node, frame)
    if target.kind is Kind.FUNCTION:
        function: FunctionInfo = target.data
        if function.name == "apply" and function.owner is not None:
            return frame.graph.unknown(node=node, kind=Kind.TENSOR)
        own = receiver if takes_receiver(function) else None
        if own is None and takes_receiver(function) and positional and positional[0].kind is Kind.INSTANCE:
            own, positional = positional[0], positional[1:]
        return call_function(function, positional, own, node, frame, keywords)
    if target.kind is Kind.CLASS:
        return _instantiate(target.data, positional, keywords, node, frame)
    if target.kind is Kind.LAYER:
        return layers.call_layer(target, positional, keywords, node, frame)
    if target.kind is Kind.INSTANCE:
        return _call_instance(target, positional, keywords, node, frame)
    operands = {f"argument{i}": v for i, v in enumerate(positional)} | keywords
    name = target.name or "call"
    if target.kind is Kind.FOREIGN:
        return frame.graph.foreign(node)
    value = Value(
        f"call.{name}", frame.graph.fresh(), Kind.UNKNOWN, operands, node=node, module=frame.module, name=name
    )
    if frame.reporting:
        frame.session.observe(value, frame)
    return value


def _call_instance(
    target: Value, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    from stablelint.analysis.inline import call_function

    info: ClassInfo = target.data[0]
    for name in ("forward", "__call__"):
        method = classes.find_method(info, name, frame)
        if method is not None:
            return call_function(method, positional, target, node, frame, keywords)
    return frame.graph.unknown(node=node)


def _instantiate(
    info: ClassInfo, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    from stablelint.analysis.inline import bind_arguments

    instance = Value(
        "instance",
        frame.graph.fresh(),
        Kind.INSTANCE,
        node=node,
        module=frame.module,
        data=(info, {}),
        name=info.name,
    )
    function = classes.find_method(info, "__init__", frame)
    arguments = dict(keywords)
    if function is not None:
        arguments = bind_arguments(function, positional, keywords, instance) or {}
    elif classes.is_dataclass(info):
        arguments.update(zip(info.fields, positional, strict=False))
    classes.construct(instance, info, arguments, frame)
    return instance
