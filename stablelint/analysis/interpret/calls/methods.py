"""Methods of values that are, or may be, tensors."""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.analysis.interpret.calls.functions import apply_operation, call_named, name_operands
from stablelint.analysis.interpret.calls.opaque import opaque
from stablelint.analysis.interpret.objects import options
from stablelint.analysis.interpret.operations import arrays, distributions
from stablelint.analysis.interpret.statements.assignment import bind, changed, held
from stablelint.analysis.interpret.statements.lending import shortened
from stablelint.analysis.interpret.statements.writing import STORED, forgotten, written_into
from stablelint.analysis.values import lists
from stablelint.analysis.values.indexing import is_view
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import NUMERIC, Kind, Value, join
from stablelint.numerics.interval import TOP
from stablelint.syntax import operations

# Methods that take out of a container.
_TAKING = frozenset("pop popitem popleft remove discard clear".split())
_OF_NUMBERS = frozenset("item float log exp sqrt clamp to sum mean".split())
REFILLING = _TAKING | {"update", "setdefault"}


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
    if attr == "__len__" and not positional:
        return call_named("builtins.len", [receiver], {}, node, frame)
    namespace = options.parsed(receiver, attr, frame)
    if namespace is not None:
        return namespace
    found = operations.method(attr)
    if attr == "get" and len(positional) == 2 and receiver.kind in (Kind.UNKNOWN, Kind.MAPPING):
        return join(frame.graph, [frame.graph.unknown(node=node, among=[receiver]), positional[1]])
    if (receiver.kind is Kind.MAPPING and attr in REFILLING) or (
        receiver.kind is Kind.UNKNOWN and attr in _TAKING and not lists.is_list(receiver)
    ):
        _refill(receiver, node, frame)
    if attr in lists.GROWING | lists.SHRINKING and lists.is_list(receiver):
        return _change_list(receiver, attr, positional, node, frame)
    if found is None or not _is_tensor_call(receiver, attr, positional, node):
        if receiver.kind in (Kind.STRING, Kind.FOREIGN, Kind.ARRAY):
            if receiver.kind is Kind.ARRAY and arrays.writes(attr):
                written_into(receiver, frame.graph.unknown(receiver.name, node, Kind.ARRAY), frame)
            if receiver.kind is Kind.ARRAY and attr == "astype" and positional:
                cast = {"input": receiver, "dtype": arrays.element_type(positional[0])}
                return arrays.as_array(apply_operation("to", cast, node, frame))
            copied = receiver.kind is Kind.ARRAY and attr == "copy"
            return receiver if copied else frame.graph.foreign(node)
        if attr == "astype" and receiver.kind is Kind.UNKNOWN:  # which tensors have not
            return Value(
                "method.astype",
                frame.graph.fresh(),
                Kind.ARRAY,
                {"input": receiver},
                node=node,
                module=frame.module,
            )
        named = ((name, v.key) for name, v in keywords.items())
        key = frame.graph.key("method", attr, receiver.key, *(v.key for v in positional), *named)
        operands = {"input": receiver, **{f"argument{i}": v for i, v in enumerate(positional)}, **keywords}
        result = opaque(f"method.{attr}", key, operands, node, frame)
        if _is_tensor(receiver) and changes(attr):
            _store(node, attr, receiver, result, frame)
        return result
    operation, in_place = found
    given = [receiver, *positional]
    if attr.startswith("new_"):  # takes of its receiver the dtype and the device, no value
        given, keywords = positional, {"dtype": _type_of(receiver, frame), **keywords}
    if of_arrays := arrays.is_array(receiver, frame):
        keywords = {arrays.keyword(name): value for name, value in keywords.items()}
    operands = name_operands(operation.parameters, given, keywords)
    if of_arrays:
        operands = arrays.operands_of(operation.name, operands, frame)
    result = apply_operation(operation.name, operands, node, frame)
    if in_place:
        result = held(result, replace(receiver, kind=Kind.TENSOR), node, frame)
        _store(node, attr, receiver, result, frame)
    return result


def _type_of(receiver: Value, frame: Frame) -> Value:
    """`x.dtype`."""
    key = frame.graph.part("attribute", receiver.key, "dtype")
    return Value("attribute", key, Kind.FOREIGN, {"input": receiver}, dtype=receiver.dtype, name="dtype")


def _refill(receiver: Value, node: ast.Call, frame: Frame) -> None:
    """A method that takes out of a container, or fills it anew: nothing that was tested of it holds any more."""
    known = receiver.kind is Kind.MAPPING
    if not known:
        shortened(receiver, frame)
    left = forgotten(receiver, node, frame) if known else frame.graph.unknown(receiver.name, receiver.node)
    if isinstance(node.func, ast.Attribute):
        changed(receiver, left, node.func.value, frame)


def _is_tensor(value: Value) -> bool:
    """Whether a value is a tensor, or one of whose elements something is known."""
    return value.kind is Kind.TENSOR or (value.kind in STORED and value.interval != TOP)


def changes(method: str) -> bool:
    """Whether a tensor's method, of which no more is known, writes into the tensor: `index_put_`."""
    return method.endswith("_") and method != "share_memory_"


def _change_list(receiver: Value, attr: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    """`xs.append(x)`: all that stands for the list stands for a longer one from here on."""
    if isinstance(node.func, ast.Attribute):
        changed(receiver, lists.grown(receiver, attr, positional, node, frame), node.func.value, frame)
    if attr == "pop":
        return frame.graph.unknown(node=node, among=[receiver])
    return frame.graph.constant(None, node)


def _store(node: ast.Call, attr: str, receiver: Value, value: Value, frame: Frame) -> None:
    """An in-place method changes what its receiver's name stands for, and all that shares its elements."""
    called = node.func  # of `f = x.mul_; f(2)` a name
    target = called.value if isinstance(called, ast.Attribute) and called.attr == attr else None
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        found = operations.method(target.func.attr)
        if found is None or not found[1]:
            break
        target = target.func.value
    copied = isinstance(target, ast.Subscript) and not is_view(receiver)  # `x[x > 0].fill_(1)` leaves x
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) and not copied:
        bind(target, value, frame)
    if receiver.kind in STORED:
        written_into(receiver, value, frame)


def _is_tensor_call(receiver: Value, attr: str, positional: list[Value], node: ast.Call) -> bool:
    if receiver.kind is Kind.TENSOR:
        return True
    if receiver.kind is Kind.ARRAY:
        return arrays.is_method(attr)
    if receiver.kind is Kind.NUMBER:
        return receiver.op != "const" and attr in _OF_NUMBERS
    if receiver.kind is not Kind.UNKNOWN or receiver.op in ("list_of", "shape", "text"):
        return False
    if any(v.kind is Kind.STRING for v in positional):
        return attr in ("einsum", "norm", "to", "type")
    if attr.rstrip("_") == "log" or attr == "log":
        return not node.args and not node.keywords
    if attr in ("add", "sub", "split", "index", "copy_", "select", "gather"):
        return bool(positional) and all(v.kind in NUMERIC for v in positional)
    return True
