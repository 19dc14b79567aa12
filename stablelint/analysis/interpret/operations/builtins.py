"""Python's own functions on numbers, sequences and tensors."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import replace

from stablelint.analysis.interpret.objects.classes import as_sequence
from stablelint.analysis.interpret.objects.lookup import attribute
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.layers import is_class_of_layers
from stablelint.analysis.interpret.operations.sizes import counted, length_key, not_empty, some_size
from stablelint.analysis.interpret.statements.lending import disowned, let_write
from stablelint.analysis.interpret.statements.writing import STORED, written_into
from stablelint.analysis.values.families import SETTINGS
from stablelint.analysis.values.lists import list_of, may_stay_empty
from stablelint.analysis.values.selections import can_lack
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.transfer import ROUNDED, result_interval
from stablelint.analysis.values.value import Attained, Kind, Value, join, of_any, sized
from stablelint.numerics.formats import FLOAT64
from stablelint.numerics.interval import AT_LEAST_ONE, BOOLEAN, COUNT, TOP, Interval
from stablelint.syntax.operations import VIEWING

_CONVERSIONS: dict[str, Callable[[float], float]] = {"float": float, "int": int, "bool": bool, "round": round}
_SET = SETTINGS | {"const", "item"}  # what a program is given, by whoever configures it


def call_builtin(
    name: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The value of a call of a builtin."""
    first = positional[0] if positional else None
    if name == "len" and first is not None:
        return _length(first, node, frame)
    if name in ("max", "min") and first is not None:
        among = first.data if isinstance(node.args[0], ast.List | ast.Tuple) else positional
        size = some_size(first, node, frame) if len(positional) == 1 else None
        if size is not None:
            return size
        if len(among) >= 2:
            return join(frame.graph, among) if "key" in keywords else _extreme(name, among, node, frame)
    if name in ("max", "min") and "key" in keywords:
        return frame.graph.unknown(node=node, among=positional)
    if name in ("max", "min", "any", "all") and first is not None and first.kind is Kind.TENSOR:
        return apply({"max": "amax", "min": "amin"}.get(name, name), {"input": first}, node, frame)
    if name == "abs" and first is not None and first.kind is not Kind.INSTANCE:
        return apply("abs", {"input": first}, node, frame)
    if name == "pow" and len(positional) == 2:
        return apply("pow", {"input": positional[0], "exponent": positional[1]}, node, frame)
    digits = positional[1] if len(positional) > 1 else keywords.get("ndigits")
    if name == "round" and first is not None and digits is not None and digits.kind is not Kind.NONE:
        return _rounded_to(digits, first, node, frame)
    if name in ("float", "int", "bool", "round") and first is not None:
        return _number(name, first, node, frame)
    if name == "sum" and first is not None:
        return _sum(first, node, frame)
    if name in ("range", "enumerate", "zip", "any", "all"):
        operands = {f"input{i}" if i else "input": v for i, v in enumerate(positional)}
        if name == "enumerate" and (len(positional) > 1 or "start" in keywords):
            operands["start"] = positional[1] if len(positional) > 1 else keywords["start"]
        if name == "range" and positional:
            names = ("start", "stop", "step") if len(positional) > 1 else ("stop",)
            operands = dict(zip(names, positional, strict=False))
            counted(operands["stop"])
        key = frame.graph.key(f"python.{name}", *(v.key for v in positional))
        return Value(f"python.{name}", key, Kind.UNKNOWN, operands, node=node, module=frame.module)
    if name in ("list", "tuple", "sorted", "reversed") and first is not None:
        return _listed(name, as_sequence(first, node, frame), node, frame)
    if name == "staticmethod" and first is not None:
        return first
    if name == "isinstance" and len(positional) == 2 and _are_layers(positional[1]):
        return _is_layer(positional[0], positional[1], node, frame)
    if name == "super":
        return _super(positional, node, frame)
    if name == "vars" and first is not None:
        disowned(first, "", frame)  # whoever has the mapping can write into it
    if name in ("exec", "eval"):
        let_write(name, [*frame.state.names.values(), *frame.state.attributes.values()], frame)
    if name == "locals":
        return Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=node, data=dict(frame.state.names))
    if name == "type" and len(positional) == 1:
        return attribute(positional[0], "__class__", node, frame)
    if name in ("str", "print", "repr", "id", "type"):
        return frame.graph.foreign(node)
    if name == "getattr" and len(positional) >= 2 and isinstance(positional[1].constant(), str):
        return attribute(positional[0], positional[1].data, node, frame)
    if name == "setattr" and len(positional) == 3 and isinstance(positional[1].constant(), str):
        frame.state.attributes[(positional[0].key, positional[1].data)] = positional[2]
        if positional[0].kind in STORED and positional[1].data in VIEWING:
            written_into(positional[0], positional[2], frame)
        return frame.graph.constant(None, node)
    if name == "dict":
        return _mapping(first, keywords, node, frame)
    return frame.graph.unknown(node=node, among=positional)


def _mapping(source: Value | None, entries: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    """`dict(source, **entries)`: of what another mapping holds, or pairs do, as much as is known."""
    data = (
        source.data if source is not None and source.kind is Kind.MAPPING else {} if source is None else None
    )
    known = {**data, **entries} if isinstance(data, dict) else None
    given = {f"held{i}": v for i, v in enumerate([source, *entries.values()]) if v is not None}
    return Value(
        "mapping",
        frame.graph.fresh(),
        Kind.MAPPING,
        {} if known is not None else given,
        node=node,
        data=known,
    )


def _is_layer(thing: Value, classes: Value, node: ast.Call, frame: Frame) -> Value:
    """The test of a class; where it is true, so is what any such test of the thing tells: that it is a layer."""
    key = frame.graph.key("isinstance", thing.key, classes.key)
    tested = {"thing": Value("python.is_layer", frame.graph.key("layer", thing.key), Kind.NUMBER)}
    return Value("python.isinstance", key, Kind.NUMBER, tested, BOOLEAN, node=node, module=frame.module)


def _are_layers(classes: Value) -> bool:
    """Whether what is asked for is a class of torch's layers, or one of several."""
    if classes.kind is Kind.SEQUENCE:
        return bool(classes.data) and all(map(_are_layers, classes.data))
    return is_class_of_layers(classes)


def _listed(name: str, first: Value, node: ast.Call, frame: Frame) -> Value:
    """A copy of a sequence, which may be in another order."""
    if first.op in ("list_of", "python.range"):
        return replace(first, node=node)
    if first.kind is not Kind.SEQUENCE:
        return frame.graph.unknown(node=node, among=[first])
    if name in ("sorted", "reversed"):
        return list_of(first.data, None, node, frame)
    return replace(first, key=frame.graph.fresh(), data=list(first.data))


def _length(first: Value, node: ast.Call, frame: Frame) -> Value:
    if first.kind is Kind.SEQUENCE and first.name != "list":
        return frame.graph.constant(len(first.data), node)
    key = length_key(first, frame)
    sieved = first.op == "list_of" and first.zero is Attained.EXACT
    emptiable = sieved or first.op == "nonzero" or may_stay_empty(first) or can_lack(first, 0, frame.state)
    zero = Attained.EXACT if emptiable else Attained.COINCIDENCE
    known = first.key in frame.state.nonempty
    interval = AT_LEAST_ONE if known else COUNT
    interval = interval.meet(frame.state.facts.get(key, TOP)) or interval
    ends = Attained.EXACT if emptiable else Attained.COINCIDENCE
    value = Value(
        "len", key, Kind.NUMBER, {"input": first}, interval, zero, ends, node=node, module=frame.module
    )
    return value if emptiable or interval.lo >= 1 else not_empty(value, first)


def _extreme(name: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    """`max(n, 1)`: an element-wise bound on numbers."""
    op = "maximum" if name == "max" else "minimum"
    result = positional[0]
    for other in positional[1:]:
        result = apply(op, {"input": result, "other": other}, node, frame)
    if all(v.kind is not Kind.TENSOR for v in positional):
        result.kind = Kind.NUMBER if result.kind is not Kind.FOREIGN else result.kind
    return result


def _number(name: str, first: Value, node: ast.Call, frame: Frame) -> Value:
    if first.is_constant and isinstance(first.data, str):
        lowered = first.data.strip().lower().lstrip("+")
        if lowered in ("inf", "-inf", "nan", "infinity", "-infinity") and name == "float":
            return frame.graph.constant(float(lowered), node)
    key = frame.graph.key(name, first.key)
    if first.is_constant and isinstance(first.data, int | float) and abs(first.data) <= sys.float_info.max:
        made = frame.graph.constant(_CONVERSIONS[name](first.data), node)
        belief = first.belief and replace(first.belief, interval=made.interval, zero=made.zero)
        open_ended = replace(made, key=key, assumed=True, interval=TOP, zero=Attained.NONE, belief=belief)
        return open_ended if first.assumed else made
    operands, interval, zero = {"input": first}, frame.state.effective(first), first.zero
    if name in ROUNDED:
        operands["rounded"] = frame.graph.constant(name)
        interval = result_interval("item", operands, {"input": interval}, FLOAT64)
        zero = max(zero, Attained.COINCIDENCE) if interval != TOP and interval.contains(0.0) else zero
    value = Value(
        "item", key, Kind.NUMBER, operands, interval, zero, first.ends, node=node, module=frame.module
    )
    frame.observed(value)
    if name == "float":
        return of_any(value, [first])
    settings = (
        first.kind is not Kind.TENSOR
        and first.operands
        and all(v.op in _SET for v in first.operands.values())
    )
    return sized(value, f"int({ast.unparse(node.args[0])})") if name == "int" and settings else value


def _rounded_to(digits: Value, first: Value, node: ast.Call, frame: Frame) -> Value:
    """`round(x, 2)`: what lies below half of the last digit is 0."""
    places, lies = digits.constant(), frame.state.effective(first)
    interval = TOP
    if isinstance(places, int) and abs(places) < sys.float_info.dig:
        low, high = (round(end, places) if math.isfinite(end) else end for end in (lies.lo, lies.hi))
        interval = Interval(low, high, nan=lies.nan)
    zero = max(first.zero, Attained.COINCIDENCE) if interval.contains(0.0) else Attained.NONE
    key = frame.graph.key("round", first.key, digits.key)
    return Value("item", key, Kind.NUMBER, {"input": first}, interval, zero, node=node, module=frame.module)


def _sum(first: Value, node: ast.Call, frame: Frame) -> Value:
    """`sum(…)`: 0 for an empty iterable."""
    if first.kind is Kind.TENSOR:
        return apply("sum", {"input": first}, node, frame)
    element = first.operands.get("element") if first.op == "list_of" else None
    key = frame.graph.key("python.sum", first.key)
    if element is None:
        if first.kind is Kind.SEQUENCE and first.data and first.name != "list":
            result: Value = first.data[0]
            for part in first.data[1:]:
                result = apply("add", {"input": result, "other": part}, node, frame)
            return result
        return Value("python.sum", key, Kind.UNKNOWN, {"input": first}, node=node, module=frame.module)
    low = min(element.interval.lo, 0.0)
    counted = element.interval.lo >= 0
    kind = element.kind if element.kind in (Kind.TENSOR, Kind.NUMBER) else Kind.UNKNOWN
    interval = Interval(low, math.inf, lo_open=math.isinf(low), hi_open=True)
    zero = max(element.zero, first.zero) if counted else Attained.COINCIDENCE
    if Attained.EXACT in (first.zero, element.zero) or _defaults_to_zero(element):
        zero = Attained.EXACT
    value = Value(
        "python.sum",
        key,
        kind,
        {"input": element},
        interval,
        zero,
        element.ends,
        node=node,
        module=frame.module,
    )
    value.interval = interval.meet(frame.state.facts.get(key, TOP)) or interval
    return value


def _defaults_to_zero(element: Value) -> bool:
    """Whether an element is 0 where nothing was recorded: `log.get("n", 0)`."""
    return element.op == "phi" and any(v.constant() == 0 for v in element.operands.values())


def _super(positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    owner = frame.function.owner if frame.function is not None else None
    if owner is None:
        return frame.graph.unknown(node=node)
    data = (owner, frame.receiver)
    return Value("super", frame.graph.key("super", id(owner)), Kind.SUPER, node=node, data=data)
