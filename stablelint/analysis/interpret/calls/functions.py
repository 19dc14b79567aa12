"""Calls of functions by their qualified name: operations, layers, `math`, numpy, and what is not known."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from stablelint.analysis.files.reading import ASSERTIONS
from stablelint.analysis.interpret.calls.opaque import opaque
from stablelint.analysis.interpret.objects import options
from stablelint.analysis.interpret.objects.definitions import named_tuple
from stablelint.analysis.interpret.operations import arrays, layers
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.builtins import call_builtin
from stablelint.analysis.interpret.operations.distributions import make_distribution
from stablelint.analysis.interpret.operations.sizes import count_under_root, counted, number_of_elements
from stablelint.analysis.interpret.operations.tensors import SPECIAL
from stablelint.analysis.interpret.paths import contexts
from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.paths.defaults import default_of
from stablelint.analysis.interpret.statements.assignment import bind, held
from stablelint.analysis.interpret.statements.writing import (
    shares_memory,
    trainable,
    trained,
    unread,
    written_into,
)
from stablelint.analysis.values import lists
from stablelint.analysis.values.families import SETTINGS
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value, belief_in, believed
from stablelint.numerics.formats import FLOAT64
from stablelint.numerics.interval import AT_LEAST_ONE, Interval
from stablelint.numerics.ranges import range_of
from stablelint.syntax import operations
from stablelint.syntax.operations import having
from stablelint.syntax.signatures import argument

_MATH = {"log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "pow",
         "floor", "ceil", "fabs", "sinh", "cosh", "erf", "factorial", "gamma", "ulp"}  # fmt: skip


_ANY = Interval(-math.inf, math.inf, True, True)
_PROCESSES = Interval(-1.0, math.inf, hi_open=True, nonzero=True, integral=True)  # -1 outside of the group
_CREATIONS, _ELEMENTWISE = having("create"), having("elementwise")


def name_operands(
    parameters: tuple[str, ...], positional: list[Value], keywords: dict[str, Value]
) -> dict[str, Value]:
    """Arguments by the names of an operation's parameters; what exceeds them is `more0`, `more1` …"""
    operands = dict(zip(parameters, positional, strict=False))
    for i, value in enumerate(positional[len(parameters) :]):
        operands[f"more{i}"] = value
    aliases = {"self": "input", "x": "input", "axis": "dim", "target": "target", "a": "input"}
    for name, value in keywords.items():
        target = name if name in parameters else aliases.get(name, name)
        operands[target] = value
    return operands


def call_named(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    """The value of calling what a qualified name stands for, where that is not a function of this project."""
    root, _, rest = qualified.partition(".")
    if qualified == "collections.OrderedDict" and not positional:
        return call_builtin("dict", positional, keywords, node, frame)
    if root == "builtins" and "." not in rest:
        return call_builtin(rest, positional, keywords, node, frame)
    if root in ("math", "numpy") and rest == "prod" and positional and positional[0].op in having("size"):
        return number_of_elements(positional[0].operands["input"], node, frame)
    if root == "math":
        return _call_math(rest, positional, node, frame)
    if root == "numpy":
        return _call_numpy(rest, positional, keywords, node, frame)
    if qualified == "functools.partial" and positional:
        return _partial(positional, keywords, node, frame)
    if qualified == options.PARSER:
        return options.parser(node, frame)
    if (read := options.structured(qualified, positional, node, frame)) is not None:
        return read
    if qualified == "collections.namedtuple" and (fields := _named_fields(positional)):
        return named_tuple("namedtuple", fields, node, frame)
    if root == "torch" and contexts.set_default(rest, positional, frame):
        return frame.graph.constant(None, node)
    if qualified == "torch.jit.is_scripting":
        return frame.graph.constant(False, node)  # what is read here is what Python runs
    if qualified in ASSERTIONS and positional:
        assume(positional[0], True, frame.state)
        return frame.graph.constant(None, node)
    operation = operations.function(qualified)
    if operation is not None:
        if operation.name == "checkpoint" and positional:
            return frame.session.interpreter.call(positional[0], positional[1:], {}, node, frame)
        if operation.name == "trange":
            return call_builtin("range", positional, {}, node, frame)
        operands = name_operands(operation.parameters, positional, keywords)
        if operation.name in _CREATIONS:
            _count_sizes(operands)
        result = apply_operation(operation.name, operands, node, frame)
        if qualified.endswith("_") and positional:
            written_into(positional[0], result, frame)
        return result
    if layers.is_layer(qualified):
        return layers.make_layer(qualified, positional, keywords, node, frame)
    found = make_distribution(qualified, positional, keywords, node, frame)
    if found is not None:
        return found
    if root == "torch":
        return _other_torch(qualified, positional, keywords, node, frame)
    if qualified in ("pathlib.Path", "pathlib.PurePath", "os.getenv", "logging.getLogger", "os.environ.get"):
        return frame.graph.foreign(node)
    return _opaque(qualified, positional, keywords, node, frame, Kind.UNKNOWN)


def _count_sizes(operands: dict[str, Value]) -> None:
    """`torch.zeros(n, m)`, `torch.full((n, m), x)`: there is something to fill."""
    for name, value in operands.items():
        if name == "size" or name.startswith("more"):
            for size in value.data if value.kind is Kind.SEQUENCE else [value]:
                counted(size)


def _partial(positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    """`partial(f, x, dim=1)`: a function with some of its arguments."""
    data = (positional[1:], keywords)
    return Value(
        "partial", frame.graph.fresh(), operands={"function": positional[0]}, node=node, module=frame.module, data=data
    )  # fmt: skip


def _named_fields(positional: list[Value]) -> list[str]:
    """The names that `namedtuple(name, "a b")` or `namedtuple(name, ["a", "b"])` gives; none where they are not known."""
    given = positional[1] if len(positional) == 2 else None
    parts = given.data if given is not None and given.kind is Kind.SEQUENCE else [given]
    texts = [part.constant() if part is not None else None for part in parts]
    names = [name for text in texts if isinstance(text, str) for name in text.replace(",", " ").split()]
    return names if all(isinstance(text, str) for text in texts) and all(map(str.isidentifier, names)) else []


def _other_torch(
    qualified: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    if qualified.startswith("torch.optim."):
        trained([*positional, *keywords.values()], frame)
    if qualified == "torch.distributed.get_world_size":
        key = frame.graph.key(qualified, *(v.key for v in positional))
        return Value(qualified, key, Kind.NUMBER, interval=_PROCESSES, node=node, module=frame.module)
    name = qualified.rpartition(".")[2]
    data = positional[0] if len(positional) == 1 and name in contexts.TENSOR_TYPES else None
    if data is not None and (lists.is_list(data) or data.kind is Kind.ARRAY):
        held = data if contexts.TENSOR_TYPES[name] == "float64" else replace(data, dtype=None)
        return apply_operation("tensor", {"data": held}, node, frame)
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
    return opaque(qualified, frame.graph.fresh(), operands, node, frame, kind)


def apply_operation(op: str, operands: dict[str, Value], node: ast.Call, frame: Frame) -> Value:
    """An operation called by name: those that build, cast or fill need a word more than `apply`.

    Nothing is known of one that lacks an operand: it raises.
    """
    if not operands.keys() >= operations.required(op):
        return frame.graph.unknown(node=node)
    asked = operands.get("requires_grad") if op != "requires_grad_" else None
    if asked is not None and asked.constant() is not False:
        plain = {name: v for name, v in operands.items() if v is not asked}
        return frame.observed(trainable(apply_operation(op, plain, node, frame), frame))
    gradient, out = frame.state.gradient, operands.pop("out", None)
    # What is written into `out=` has no gradient: torch refuses operands that ask for one.
    frame.state.gradient = gradient and (out is None or _may_be_none(out))
    special = SPECIAL.get(op)
    result = special(op, operands, node, frame) if special is not None else None
    result = result or apply(op, operands, node, frame)
    frame.state.gradient = gradient
    if out is not None:
        if op not in _ELEMENTWISE and shares_memory(out, operands.values()):
            result = unread(result, frame)  # what is written first may be read later
        result = held(result, out, node, frame)
        name = argument(node, "out")
        if isinstance(name, ast.Name | ast.Attribute):
            bind(name, result, frame)
        for one in out.data if out.kind is Kind.SEQUENCE else []:
            written_into(one, frame.graph.unknown(one.name, node, one.kind), frame)
        written_into(out, result, frame)
    if "inplace" in operands and operands["inplace"].constant() is not False:
        written_into(operands["input"], result, frame)
    return result


def _may_be_none(value: Value) -> bool:
    """Whether a value is None, or a parameter that is None by default."""
    default = default_of(value)
    return value.kind is Kind.NONE or (default is not None and default.value is None)


def _call_math(name: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    if positional and all(v.is_constant and not v.assumed for v in positional) and name in _MATH:
        try:
            return frame.graph.constant(getattr(math, name)(*(v.data for v in positional)), node)
        except (ArithmeticError, ValueError, TypeError):
            return Value(f"math.{name}", frame.graph.fresh(), Kind.NUMBER, node=node, module=frame.module)
    if not positional:
        return Value(f"math.{name}", frame.graph.fresh(), Kind.NUMBER, node=node, module=frame.module)
    operand = positional[0]
    if name == "sqrt":
        count_under_root(operand)
    op = "abs" if name == "fabs" else name
    operands = dict(zip(("input", "exponent") if name == "pow" else ("input",), positional, strict=False))
    given = list(operands.values())
    known = range_of(op, list(map(frame.state.effective, given)), {}, FLOAT64)
    interval = AT_LEAST_ONE if name == "factorial" else known or _ANY
    key = frame.graph.key("math", name, *(v.key for v in positional))
    zero = operand.zero if name in ("sqrt", "fabs") else Attained.NONE
    value = Value(
        f"math.{name}", key, Kind.NUMBER, operands, interval, zero, min(v.ends for v in given), node=node,
        module=frame.module,
    )  # fmt: skip
    if any(v.belief is not None for v in given):
        lies = range_of(op, list(map(frame.state.believed, given)), {}, FLOAT64) or _ANY
        taken = list(map(believed, given))
        ends = min(v.ends for v in taken)
        value.belief = belief_in(lies, taken[0].zero if zero else zero, ends, value, given)
    return value


def _call_numpy(
    name: str, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    if name == "finfo" and positional:
        return Value(
            "finfo",
            frame.graph.key("finfo", positional[0].key),
            Kind.FOREIGN,
            dtype=positional[0].dtype,
            node=node,
        )
    first = positional[0] if positional else None
    if name == "spacing" and first is not None and first.interval.lo >= 0:
        name = "ulp"
    set_to = first is not None and first.kind is Kind.UNKNOWN and first.op in SETTINGS and name == "sqrt"
    numeric = set_to or (first is not None and first.kind is Kind.NUMBER)
    if numeric and name in _MATH:
        return _call_math(name, positional[:1], node, frame)
    operation = arrays.function(name, positional, keywords)
    if operation is None:
        if first is not None and arrays.writes(name):
            written_into(first, frame.graph.unknown(first.name, node, first.kind), frame)
        return arrays.made(name, frame.graph.foreign(node), positional, keywords)
    named = {arrays.keyword(k): v for k, v in keywords.items()}
    operands = name_operands(operation.parameters, list(map(arrays.as_array, positional)), named)
    operands = arrays.operands_of(operation.name, operands, frame)
    result = arrays.as_array(apply_operation(operation.name, operands, node, frame))
    return arrays.typed(name, result, positional, keywords)
