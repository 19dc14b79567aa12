"""Evaluates expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stablelint.analysis.interpret.calls.dispatch import evaluate_call
from stablelint.analysis.interpret.comprehensions import comprehension, dict_comprehension, rejoin
from stablelint.analysis.interpret.objects import lookup
from stablelint.analysis.interpret.objects.classes import let_run
from stablelint.analysis.interpret.objects.definitions import function_value
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.sizes import count_under_root, number_of_elements
from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.paths.defaults import usually
from stablelint.analysis.interpret.paths.narrowing import narrowed, narrowed_value
from stablelint.analysis.interpret.statements.assignment import bind
from stablelint.analysis.interpret.statements.lending import let_write
from stablelint.analysis.interpret.subscripts import subscript
from stablelint.analysis.values import lists
from stablelint.analysis.values.merging import merge
from stablelint.analysis.values.outcomes import outcome
from stablelint.analysis.values.paths import Paths
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value, join
from stablelint.numerics.interval import Interval
from stablelint.syntax.joins import joined_paths
from stablelint.syntax.swap import ordered_pair

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


_OBJECTS = frozenset({Kind.TENSOR, Kind.LAYER, Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.MAPPING})
_ON_ANY_PATH = frozenset({"phi", "unknown", "param", "const"})
_TESTS = frozenset({*_COMPARE.values(), "logical_not", "contains", "python.is", "python.and", "python.or"})


def evaluate(node: ast.expr | None, frame: Frame) -> Value:
    """The value of an expression; never raises for valid syntax."""
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(node, frame)
    return frame.graph.constant(None) if node is None else frame.graph.unknown(node=node)


def binary(op: type[ast.operator], left: Value, right: Value, node: ast.AST, frame: Frame) -> Value:
    """The value of a binary operator, arithmetic or not."""
    name = _BINARY.get(op)
    let_run(left, frame)
    let_run(right, frame)
    if name is None:
        return frame.graph.unknown(node=node)
    if name == "add" and left.kind is Kind.SEQUENCE and right.kind is Kind.SEQUENCE:
        return frame.graph.sequence([*left.data, *right.data], node)
    if Kind.MAPPING in (left.kind, right.kind):
        return frame.graph.unknown(node=node, among=[left, right])
    if Kind.STRING in (left.kind, right.kind):
        return frame.graph.foreign(node)
    if name == "mul" and left.kind is Kind.SEQUENCE and right.kind is Kind.NUMBER:
        return lists.repeated(left, right, node, frame)
    if name in ("add", "mul") and Kind.SEQUENCE in (left.kind, right.kind):
        return frame.graph.unknown(node=node, among=[left, right])
    if (
        name == "pow"
        and _is_fraction(right)
        and frame.function is not None
        and frame.function.name == "__init__"
    ):
        count_under_root(left)  # no tensor: an object is made, of settings
    second = {"pow": "exponent"}.get(name, "other")
    return apply(name, {"input": left, second: right}, node, frame)


def _is_fraction(exponent: Value) -> bool:
    number = exponent.default()
    return isinstance(number, float) and not number.is_integer()


def _constant(node: ast.Constant, frame: Frame) -> Value:
    value = frame.graph.constant(node.value, node)
    value.module = frame.module
    return value


def _binop(node: ast.BinOp, frame: Frame) -> Value:
    left, right = evaluate(node.left, frame), evaluate(node.right, frame)
    if type(node.op) is ast.Div and _joins_paths(node, frame):
        return frame.graph.foreign(node)
    return binary(type(node.op), left, right, node, frame)


def _joins_paths(node: ast.BinOp, frame: Frame) -> bool:
    root = frame.module.source.tree if frame.function is None else frame.function.node
    return id(node) in joined_paths(root)


def _unary(node: ast.UnaryOp, frame: Frame) -> Value:
    operand = evaluate(node.operand, frame)
    let_run(operand, frame)
    if isinstance(node.op, ast.UAdd):
        return operand
    if isinstance(node.op, ast.USub):
        return apply("neg", {"input": operand}, node, frame)
    if isinstance(node.op, ast.Not) and operand.op == "const":
        return frame.graph.constant(not operand.data, node)
    inverts = isinstance(node.op, ast.Invert)
    return apply("bitwise_not" if inverts else "logical_not", {"input": operand}, node, frame)


def _compare(node: ast.Compare, frame: Frame) -> Value:
    left = evaluate(node.left, frame)
    let_run(left, frame)
    parts: list[Value] = []
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(comparator, frame)
        let_run(right, frame)
        name = _COMPARE.get(type(operator))
        if name is not None:
            parts.append(apply(name, {"input": left, "other": right}, node, frame))
        else:
            parts.append(_identity(operator, left, right, node, frame))
        left = right
    result = parts[0]
    for part in parts[1:]:
        result = apply("logical_and", {"input": result, "other": part}, node, frame)
    return result


def _identity(operator: ast.cmpop, left: Value, right: Value, node: ast.Compare, frame: Frame) -> Value:
    """`is`, `is not`, `in`, `not in`: decided where both sides are known."""
    if isinstance(operator, ast.Is | ast.IsNot):
        if right.op == "const" and left.op == "const" and not left.assumed:
            same = left.data is right.data
            return frame.graph.constant(same == isinstance(operator, ast.Is), node)
        if right.kind is Kind.NONE and _is_something(left, frame):
            return frame.graph.constant(isinstance(operator, ast.IsNot), node)
        key = frame.graph.key("is", left.key, right.key)
        test = Value(
            "python.is", key, Kind.NUMBER, {"input": left, "other": right}, Interval(0, 1), node=node
        )
        return test if isinstance(operator, ast.Is) else apply("logical_not", {"input": test}, node, frame)
    held = _contained(left, right, node, frame)
    return held if isinstance(operator, ast.In) else apply("logical_not", {"input": held}, node, frame)


def _contained(left: Value, right: Value, node: ast.Compare, frame: Frame) -> Value:
    """`left in right`."""
    sought = left.constant()
    if sought == 0 and right.op == "shape" and right.first is not None:  # `0 in x.shape`: x has no element
        count = number_of_elements(right.first, node, frame)
        return apply("eq", {"input": count, "other": left}, node, frame)
    if isinstance(sought, int | float) and right.kind is Kind.TENSOR:
        found = apply("eq", {"input": right, "other": left}, node, frame)
        return apply("any", {"input": found}, node, frame)  # `0 in x` asks whether an element is 0
    listed = right.kind is Kind.SEQUENCE and all(v.is_constant for v in right.data)
    key = (
        frame.graph.key("contains", left.key, *(v.key for v in right.data)) if listed else frame.graph.fresh()
    )
    operands = {"input": left, "other": right} if listed else {}
    return Value("contains", key, Kind.NUMBER, operands, Interval(0, 1, integral=True), node=node)


def _is_something(value: Value, frame: Frame) -> bool:
    """Whether a value is known not to be None, on any path."""
    known = value.kind not in (Kind.UNKNOWN, Kind.NONE) and value.op not in _ON_ANY_PATH
    return known and value.key not in frame.graph.optional


def _boolop(node: ast.BoolOp, frame: Frame) -> Value:
    """`a and b`: b is evaluated where a holds."""
    is_and = isinstance(node.op, ast.And)
    values, yielded = [evaluate(node.values[0], frame)], []
    saved = frame.state
    frame.state = saved.copy()
    for operand in node.values:
        if operand is not node.values[0]:
            values.append(evaluate(operand, frame))
        value = values[-1]
        let_run(value, frame)
        taken = frame.state.copy()
        assume(value, not is_and, taken)  # `n or 1` is n where n is not 0
        yielded.append(taken.effective(value) if operand is not node.values[-1] else value.interval)
        if operand is not node.values[-1]:
            assume(value, is_and, frame.state)
    rejoin(saved, frame)
    result = values[0]
    decided = [v for v in values if isinstance(v.constant(), bool)]
    ends = next((i for i, v in enumerate(values) if v.constant() is not is_and and v in decided), None)
    if len(decided) == len(values) or (ends is not None and all(map(_is_test, values[:ends]))):
        return frame.graph.constant(is_and if ends is None else not is_and, node)
    kinds = {v.kind for v in values}
    if not is_and and kinds & _OBJECTS and not all(map(_is_test, values)):
        return join(frame.graph, [narrowed_value(v, i, frame) for v, i in zip(values, yielded, strict=True)])
    interval = yielded[0]
    for value, one in zip(values[1:], yielded[1:], strict=True):
        name = "python.and" if is_and else "python.or"
        key = frame.graph.key(name, result.key, value.key)
        interval = interval.join(one)
        result = Value(name, key, Kind.UNKNOWN, {"input": result, "other": value}, interval, node=node)
    return result


def _is_test(value: Value) -> bool:
    """Whether a value is true or false, rather than one of several things to choose from."""
    return value.dtype == "bool" or value.op in _TESTS or isinstance(value.constant(), bool)


def evaluate_test(node: ast.expr, frame: Frame) -> Value:
    """The value of an expression that is asked whether it is true."""
    test = evaluate(node, frame)
    let_run(test, frame)
    return test


def _ifexp(node: ast.IfExp, frame: Frame) -> Value:
    test = evaluate_test(node.test, frame)
    if test.op == "const" and not test.assumed:
        return evaluate(node.body if test.data else node.orelse, frame)
    order = ordered_pair(node)
    if order is not None and test.operands.keys() == {"input", "other"}:
        return frame.graph.sequence([apply(op, test.operands, node, frame) for op in order], node)
    saved = frame.state
    frame.state = saved.copy()
    usual = usually(test)
    tests = (outcome(test, True), outcome(test, False))
    paths = Paths(id(frame.function), tests, *usual.places)
    assume(test, True, frame.state)
    frame.state.tests.update(paths.tests[0])
    body = evaluate(node.body, frame)
    body = narrowed(body, frame)
    after_body = frame.state
    frame.state = saved.copy()
    assume(test, False, frame.state)
    frame.state.tests.update(paths.tests[1])
    orelse = narrowed(evaluate(node.orelse, frame), frame)
    frame.state = merge(frame.graph, after_body, frame.state, paths.where, usual)
    either = join(frame.graph, [body, orelse], paths)
    made = either.op == "phi" and either not in (body, orelse)
    return replace(either, node=node, module=frame.module) if made else either


def _subscript(node: ast.Subscript, frame: Frame) -> Value:
    base = evaluate(node.value, frame)
    index = evaluate(node.slice, frame)
    let_run(base, frame)
    return subscript(base, index, node, frame)


def _slice(node: ast.Slice, frame: Frame) -> Value:
    parts = [evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    key = frame.graph.key("slice", *(p.key for p in parts))
    return Value("slice", key, Kind.FOREIGN, node=node, data=tuple(parts))


def _sequence(node: ast.Tuple | ast.List, frame: Frame) -> Value:
    elements: list[Value] = []
    for element in node.elts:
        value = evaluate(element.value if isinstance(element, ast.Starred) else element, frame)
        if isinstance(element, ast.Starred):
            if value.kind is not Kind.SEQUENCE:
                return frame.graph.unknown(node=node, among=[*elements, value])
            elements.extend(value.data)
        else:
            elements.append(value)
    result = frame.graph.sequence(elements, node)
    if isinstance(node, ast.List):
        result.key = frame.graph.fresh()  # a list can grow
        result.name = "list"
    return result


def _set(node: ast.Set, frame: Frame) -> Value:
    elements = [evaluate(element, frame) for element in node.elts]
    for element in elements:
        let_run(element, frame)
    return frame.graph.unknown(node=node, among=[frame.graph.sequence(elements, node)])


def _dict(node: ast.Dict, frame: Frame) -> Value:
    data: dict[Any, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(item, frame)
        if key is None:  # what is merged may have any of the keys before it
            known = value.data if isinstance(value.data, dict) else {}
            data = {**(data if known else dict.fromkeys(data, frame.graph.unknown(node=node))), **known}
        place = evaluate(key, frame)
        let_run(place, frame)
        name = place.constant() if key is not None else None
        data[name if isinstance(name, str | int) else ("key", len(data))] = value
    return Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=node, data=data)


def _named(node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(node.value, frame)
    bind(node.target, value, frame)
    return value


def _suspended(node: ast.Await | ast.YieldFrom, frame: Frame) -> Value:
    """What comes back is not what is waited for: a coroutine is no tensor."""
    let_run(evaluate(node.value, frame), frame)
    wait((), frame)
    return frame.graph.unknown(node=node)


def _yield(node: ast.Yield, frame: Frame) -> Value:
    wait([evaluate(node.value, frame)], frame)
    return frame.graph.unknown(node=node)


def wait(yielded: Sequence[Value], frame: Frame) -> None:
    """Lets others go on: they may write into the object of a method, and into what is yielded."""
    receivers = [frame.receiver] if frame.receiver is not None else []
    let_write("whoever goes on here", [*yielded, *receivers], frame)


def _string(node: ast.JoinedStr, frame: Frame) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            let_run(evaluate(part.value, frame), frame)
    return Value("text", frame.graph.fresh(), Kind.STRING, node=node)


_HANDLERS: dict[type, Callable[[Any, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: lookup.name,
    ast.Attribute: lambda node, frame: lookup.attribute(evaluate(node.value, frame), node.attr, node, frame),
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Dict: _dict,
    ast.Set: _set,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.SetComp: comprehension,
    ast.DictComp: dict_comprehension,
    ast.Lambda: function_value,
    ast.NamedExpr: _named,
    ast.Await: _suspended,
    ast.Starred: lambda node, frame: evaluate(node.value, frame),
    ast.YieldFrom: _suspended,
    ast.Yield: _yield,
    ast.JoinedStr: _string,
    ast.Call: evaluate_call,
}
