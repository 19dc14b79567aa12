"""Calls: operations in any spelling, layers, functions of the project, builtins."""

from __future__ import annotations

import ast
import math
from typing import Any

from stablelint.analysis import classes, distributions, layers
from stablelint.analysis.apply import apply
from stablelint.analysis.builtins import call_builtin
from stablelint.analysis.modules import ClassInfo, FunctionInfo
from stablelint.analysis.state import Frame
from stablelint.analysis.value import Ground, Kind, Value, join
from stablelint.numerics.interval import Interval
from stablelint.syntax import operations

# Methods that other objects have too: an unknown receiver is a tensor only if the call looks like one.
_AMBIGUOUS = frozenset(
    "add sub index split pow select to type item size log dim where sort max min round copy_ expand repeat fill_ view "
    "square any all unique float int bool sum mean std var flatten t narrow gather unbind diag trace numel normal".split()
)
_MATH = {"log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "pow",
         "floor", "ceil", "fabs", "sinh", "cosh", "erf"}  # fmt: skip


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
            own = {k: v for k, v in inner.state.attributes.items() if k[0] == instance.key}
            frame.state.attributes.update(own)
            instance.data[1].update({attr: v for (_, attr), v in own.items() if attr not in instance.data[1]})
        return frame.graph.constant(None, node)
    return call_function(function, positional, instance, node, frame, keywords)


def call_method(
    receiver: Value,
    attr: str,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
) -> Value:
    """A method of a value that may be a tensor."""
    if receiver.op.startswith("torch.distributions."):
        yielded = distributions.call(receiver, attr, positional, node, frame)
        if yielded is not None:
            return yielded
    found = operations.method(attr)
    if attr == "get" and len(positional) == 2 and receiver.kind in (Kind.UNKNOWN, Kind.MAPPING):
        element = join(frame.graph, [frame.graph.unknown(node=node), positional[1]])
        element.zero = max(element.zero, positional[1].zero)  # what is missing takes the default
        return element
    if receiver.kind is Kind.SEQUENCE and attr in ("append", "extend", "insert"):
        return _grow(receiver, node, frame)
    if found is None or not _is_tensor_call(receiver, attr, positional, node):
        if receiver.kind in (Kind.STRING, Kind.FOREIGN):
            return frame.graph.foreign(node)
        key = frame.graph.key("method", attr, receiver.key, *(v.key for v in positional))
        operands = {"input": receiver, **{f"argument{i}": v for i, v in enumerate(positional)}, **keywords}
        unknown = Value(
            f"method.{attr}", key, Kind.UNKNOWN, operands, node=node, module=frame.module, name=attr
        )
        if frame.reporting:
            frame.session.observe(unknown, frame)
        return unknown
    operation, in_place = found
    operands = _named(operation.parameters, [receiver, *positional], keywords)
    result = apply_operation(operation.name, operands, node, frame)
    if in_place and isinstance(node.func, ast.Attribute):
        _store(node.func.value, result, frame)
    return result


def _grow(receiver: Value, node: ast.Call, frame: Frame) -> Value:
    """`xs.append(x)`: from here on the list's length is not known."""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        grown = Value(
            "list_of", frame.graph.fresh(), Kind.UNKNOWN, node=node, module=frame.module, name=node.func.value.id,
            zero=Ground.COINCIDENCE,
        )  # fmt: skip
        frame.state.names[node.func.value.id] = grown
    return frame.graph.constant(None, node)


def _store(target: ast.expr, value: Value, frame: Frame) -> None:
    """An in-place method changes what its receiver's name stands for."""
    from stablelint.analysis.lookup import bind

    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        found = operations.method(target.func.attr)
        if found is None or not found[1]:
            return
        target = target.func.value
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        bind(target, value, frame)


def _is_tensor_call(receiver: Value, attr: str, positional: list[Value], node: ast.Call) -> bool:
    if receiver.kind is Kind.TENSOR:
        return True
    if receiver.kind is Kind.NUMBER:
        return receiver.op != "const" and attr in (
            "item",
            "float",
            "log",
            "exp",
            "sqrt",
            "clamp",
            "to",
            "sum",
            "mean",
        )
    if receiver.kind is not Kind.UNKNOWN or receiver.op in ("list_of", "shape", "text"):
        return False
    if any(v.kind is Kind.STRING for v in positional):
        return attr in ("einsum", "norm", "to", "type")
    if attr.rstrip("_") == "log" or attr == "log":
        return not node.args and not node.keywords
    return attr not in _AMBIGUOUS or _looks_like_tensor(attr, positional)


def _looks_like_tensor(attr: str, positional: list[Value]) -> bool:
    if attr in ("add", "sub", "split", "index", "copy_", "select", "gather"):
        return bool(positional) and all(
            v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.UNKNOWN) for v in positional
        )
    return True


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
        return _call_named(target.data, positional, keywords, node, frame)
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


def _named(
    parameters: tuple[str, ...], positional: list[Value], keywords: dict[str, Value]
) -> dict[str, Value]:
    operands = dict(zip(parameters, positional, strict=False))
    for i, value in enumerate(positional[len(parameters) :]):
        operands[f"more{i}"] = value
    aliases = {"self": "input", "x": "input", "axis": "dim", "target": "target", "a": "input"}
    for name, value in keywords.items():
        target = name if name in parameters else aliases.get(name, name)
        operands[target] = value
    return operands


def _call_named(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    root, _, rest = qualified.partition(".")
    if root == "builtins":
        return call_builtin(rest, positional, keywords, node, frame)
    if root == "math":
        return _call_math(rest, positional, node, frame)
    if root == "numpy":
        return _call_numpy(rest, positional, node, frame)
    operation = operations.function(qualified)
    if operation is not None:
        if operation.name == "checkpoint" and positional:
            return call_value(positional[0], positional[1:], {}, node, frame)
        return apply_operation(
            operation.name, _named(operation.parameters, positional, keywords), node, frame
        )
    if qualified.startswith("torch.nn.") and qualified.rpartition(".")[2][:1].isupper():
        return layers.make_layer(qualified, positional, keywords, node, frame)
    if root == "torch":
        return _other_torch(qualified, positional, keywords, node, frame)
    if qualified in ("pathlib.Path", "pathlib.PurePath", "os.getenv", "logging.getLogger", "os.environ.get"):
        return frame.graph.foreign(node)
    return _opaque(qualified, positional, keywords, node, frame, Kind.UNKNOWN)


def _other_torch(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    from stablelint.analysis.distributions import make_distribution

    found = make_distribution(qualified, positional, keywords, node, frame)
    if found is not None:
        return found
    name = qualified.rpartition(".")[2]
    foreign = qualified.startswith(
        ("torch.optim", "torch.utils", "torch.cuda", "torch.device", "torch.distributed")
    )
    kind = Kind.FOREIGN if foreign and not name[:1].isupper() else Kind.UNKNOWN
    return _opaque(qualified, positional, keywords, node, frame, kind)


def _opaque(
    qualified: str,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
    kind: Kind,
) -> Value:
    operands = {f"argument{i}": v for i, v in enumerate(positional)} | keywords
    name = qualified.rpartition(".")[2]
    value = Value(qualified, frame.graph.fresh(), kind, operands, node=node, module=frame.module, name=name)
    if frame.reporting:
        frame.session.observe(value, frame)
    return value


def apply_operation(op: str, operands: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    """An operation called by name: those that build, cast or fill need a word more than `apply`."""
    from stablelint.analysis import tensors

    special = tensors.SPECIAL.get(op)
    if special is not None:
        result = special(op, operands, node, frame)
        if result is not None:
            return result
    result = apply(op, operands, node, frame)
    if "out" in operands:
        out = next((k.value for k in node.keywords if k.arg == "out"), None)
        if isinstance(out, ast.Name):
            frame.state.names[out.id] = result
    return result


def _call_math(name: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    if positional and positional[0].is_constant and name in _MATH:
        try:
            return frame.graph.constant(getattr(math, name)(*(v.data for v in positional)), node)
        except (ArithmeticError, ValueError, TypeError):
            return Value(f"math.{name}", frame.graph.fresh(), Kind.NUMBER, node=node, module=frame.module)
    if not positional:
        return Value(f"math.{name}", frame.graph.fresh(), Kind.NUMBER, node=node, module=frame.module)
    from stablelint.numerics.formats import FLOAT64
    from stablelint.numerics.ranges import range_of

    operand = positional[0]
    interval = range_of("abs" if name == "fabs" else name, [frame.state.effective(operand)], {}, FLOAT64)
    key = frame.graph.key("math", name, *(v.key for v in positional))
    zero = operand.zero if name in ("sqrt", "fabs") else Ground.NONE
    value = Value(
        f"math.{name}", key, Kind.NUMBER, {"input": operand}, interval or Interval(-math.inf, math.inf, True, True), zero,
        operand.ends, node=node, module=frame.module,
    )  # fmt: skip
    return value


def _call_numpy(name: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    if name == "finfo" and positional:
        return Value(
            "finfo",
            frame.graph.key("finfo", positional[0].key),
            Kind.FOREIGN,
            dtype=positional[0].dtype,
            node=node,
        )
    if (
        name in ("sqrt", "log", "exp", "log2", "log10", "prod")
        and positional
        and positional[0].kind is Kind.NUMBER
    ):
        return (
            _call_math(name, positional[:1], node, frame)
            if name in _MATH
            else frame.graph.unknown(node=node, kind=Kind.NUMBER)
        )
    return frame.graph.foreign(node)


def element_of(iterable: Value, target: ast.expr, frame: Frame) -> Value:
    """What a loop variable stands for."""
    if iterable.kind is Kind.SEQUENCE and iterable.data:
        return join(frame.graph, list(iterable.data))
    if iterable.op == "python.range":
        interval = Interval(0.0, math.inf, hi_open=True, integral=True)
        start = iterable.operands.get("start")
        if start is not None and start.interval.lo < math.inf:
            interval = Interval(start.interval.lo, math.inf, hi_open=True, integral=True)
        return Value(
            "loop_index",
            frame.graph.fresh(),
            Kind.NUMBER,
            {},
            interval,
            Ground.EXACT,
            Ground.COINCIDENCE,
            node=target,
        )
    if iterable.op == "python.enumerate":
        count = Interval(0.0, math.inf, hi_open=True, integral=True)
        key = frame.graph.fresh()
        index = Value(
            "loop_index", key, Kind.NUMBER, {}, count, Ground.EXACT, Ground.COINCIDENCE, node=target
        )
        return frame.graph.sequence([index, element_of(iterable.operands["input"], target, frame)], target)
    if iterable.op == "python.zip":
        return frame.graph.sequence(
            [element_of(v, target, frame) for v in iterable.operands.values()], target
        )
    if iterable.op == "list_of" and "element" in iterable.operands:
        return iterable.operands["element"]
    return frame.graph.unknown(target.id if isinstance(target, ast.Name) else "", target)


def layer_element(base: Value, index: Any, frame: Frame) -> Value:
    """`layers[i]` of a Sequential or ModuleList."""
    return layers.element(base, index, frame)
