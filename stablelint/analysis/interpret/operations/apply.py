"""Applies an operation to values: canonical form, folding, range, and the report to whoever observes."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stablelint.analysis.interpret.operations.beliefs import belief_of, below_settings, exceeding, smoothed
from stablelint.analysis.interpret.operations.blends import blended
from stablelint.analysis.interpret.paths.contexts import CREATIONS, TENSOR_TYPES
from stablelint.analysis.values import transfer
from stablelint.analysis.values.attainability import attainability
from stablelint.analysis.values.families import CONDITIONS
from stablelint.analysis.values.indexing import PAIR
from stablelint.analysis.values.masks import total_of_some
from stablelint.analysis.values.relations.maxima import peaks
from stablelint.analysis.values.relations.rows import of_own_rows
from stablelint.analysis.values.selections import can_be_empty, filled_if, keeps_rows
from stablelint.analysis.values.state import Frame, State
from stablelint.analysis.values.value import (
    Attained,
    Belief,
    Kind,
    Value,
    belief_in,
    believed,
    restricted,
    unassumed,
)
from stablelint.analysis.values.views import is_same
from stablelint.numerics.formats import FORMATS, INTEGERS, FloatFormat
from stablelint.numerics.interval import BOOLEAN, TOP, Interval
from stablelint.syntax.operations import CUTS, SELECTIONS, VIEWS, having

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_KINDS = dict.fromkeys("numel size dim ndim len item".split(), Kind.NUMBER) | {
    "numpy": Kind.ARRAY,
    **dict.fromkeys("tolist is_floating_point finfo iinfo torch_load".split(), Kind.FOREIGN),
    "backward": Kind.NONE,
}
_SEVERAL, _PLACING = having("several"), having("bound", "replace")
_RANDOM = having("draw") | {"empty", "empty_like", "dropout", "gumbel_softmax", "parameter"}
_INTO = having("into", "mean-pool")  # what keeps the type of its operand
_PYTHON_TYPES = {"int": "int64", "float": "float64", "bool": "bool"}
_ARITHMETIC = frozenset("add sub mul div floor_divide remainder pow neg abs matmul maximum minimum".split())
_DIVISIONS = frozenset({"div", "floor_divide", "remainder"})
_SELECTORS = frozenset(  # operands whose dtype is not the result's
    {"index", "mask", "condition", "dim", "nan", "posinf", "neginf"}
)
_MODES = frozenset({"dtype", "rounding_mode"})  # operands that say how to compute
_EXPONENTIALS = having("exponential")
_ADDING, _PRODUCTS = having("add-up"), having("product")
_NARROWED, _WIDENED = having("narrowed"), having("widened")  # by autocast
_TRUTHS = CONDITIONS | {"contains"}
_BITWISE = {"bitwise_not": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or"}
# Operations that `canonical` may say otherwise.
_SPELLINGS = _BITWISE.keys() | frozenset(
    "square add sub mul reciprocal rsub pow clamp clamp_min clamp_max max min vector_norm randint".split()
)
# That an array of numpy has, too.
_OF_ARRAYS = having("total", "spread", "extreme") | {"prod", "sqrt", "rsqrt"}


def apply(op: str, operands: Mapping[str, Value], node: ast.AST | None, frame: Frame) -> Value:
    """The value of an operation."""
    if frame.state.supposed or frame.state.gaps:
        operands = {name: frame.state.supposing(value) for name, value in operands.items()}
    asked = op
    op, operands = canonical(op, dict(operands), frame)
    if frame.caught and op in _DIVISIONS:
        _divided(operands, frame)
    folded = _folded(op, operands, node, frame)
    if folded is not None:
        if op == "sub" and folded.assumed:
            _tested_difference(folded, operands, frame)
        return folded
    if op == "div":
        operands["other"] = smoothed(operands["input"], operands["other"])
        if frame.state.gaps:
            operands["other"] = exceeding(operands["input"], operands["other"], frame.state)
    if op in _EXPONENTIALS:
        operands["input"] = below_settings(operands["input"], frame.state)
    if op == "identity":
        return next(iter(operands.values()))
    value = _build(op, operands, node, frame)
    if asked in _SEVERAL:
        value.data = PAIR
    if op == "sub":
        _tested_difference(value, operands, frame)
    if frame.reporting and value.kind is not Kind.FOREIGN:
        frame.session.observe(value, frame)
    return value


def _tested_difference(value: Value, operands: Mapping[str, Value], frame: Frame) -> None:
    """A difference of two values that the path has compared: what that says of its sign."""
    gap = frame.state.gap(operands) if frame.state.gaps else None
    if gap is not None:
        frame.state.learn(value, gap)


def _divided(operands: Mapping[str, Value], frame: Frame) -> None:
    """A division of Python numbers whose failure is caught: where it succeeds, the divisor is not 0."""
    divisor = operands.get("other")
    if (
        divisor is not None
        and not divisor.is_constant
        and all(v.kind is Kind.NUMBER for v in operands.values())
    ):
        frame.state.learn(divisor, Interval(-math.inf, math.inf, nonzero=True))


def canonical(op: str, operands: dict[str, Value], frame: Frame) -> tuple[str, dict[str, Value]]:
    """One form for the operations that can be said in several ways."""
    if op not in _SPELLINGS:
        return op, operands
    one = frame.graph.constant
    if op == "square":
        return "pow", {"input": operands["input"], "exponent": one(2)} if "input" in operands else operands
    if op == "mul" and "other" in operands and operands["input"].kind is not Kind.NUMBER:
        if is_same(operands["input"], operands["other"]):
            return "pow", {"input": operands["input"], "exponent": one(2)}
        sides = operands["input"], operands["other"]
        for signed, bare in (sides, sides[::-1]):
            if signed.op == "neg" and signed.first is not None and is_same(signed.first, bare):
                squared = apply("pow", {"input": bare, "exponent": one(2)}, None, frame)
                return "neg", {"input": squared}
    if op == "reciprocal" and "input" in operands:
        return "div", {"input": one(1), "other": operands["input"]}
    if op == "randint" and "size" not in operands and "high" in operands:
        return op, {"high": operands["low"], "size": operands["high"]}
    if op in ("add", "sub") and "alpha" in operands:
        scaled = apply("mul", {"input": operands["other"], "other": operands["alpha"]}, None, frame)
        return op, {"input": operands["input"], "other": scaled}
    if op == "rsub" and "other" in operands:
        turned = {"input": operands["other"], "other": operands["input"]}
        scale = {"alpha": operands["alpha"]} if "alpha" in operands else {}
        return canonical("sub", turned | scale, frame)
    if op in _BITWISE:
        return _canonical_bits(op, operands, frame)
    if op == "pow" and "exponent" in operands:
        return _canonical_power(operands, frame)
    if op in ("clamp_min", "clamp_max"):
        return "clamp", operands
    if (
        op in ("max", "min")
        and "dim" in operands
        and "keepdim" not in operands
        and _is_operand(operands["dim"])
    ):
        renamed = {"input": operands["input"], "other": operands["dim"]}
        return ("maximum" if op == "max" else "minimum"), renamed
    if op in ("max", "min") and "other" in operands:
        return ("maximum" if op == "max" else "minimum"), operands
    if op in ("max", "min"):
        return ("amax" if op == "max" else "amin"), operands
    if op == "vector_norm":
        return "norm", {("p" if k == "ord" else k): v for k, v in operands.items()}
    if op in ("clamp",) and "input" in operands:
        present = {k: v for k, v in operands.items() if v.kind is not Kind.NONE}
        return op, present
    return op, operands


def _is_operand(second: Value) -> bool:
    """Whether the second argument of `max` is another tensor: nothing says that it is a dimension."""
    if second.kind is Kind.UNKNOWN and second.op == "argument":
        return True  # of two tensors the result lies where a reduction's would, too
    return second.kind is Kind.TENSOR


def _canonical_bits(op: str, operands: dict[str, Value], frame: Frame) -> tuple[str, dict[str, Value]]:
    """What `&`, `|` and `~` are of truth values, which operands are where nothing speaks against it."""
    if not any(map(_is_whole, operands.values())):
        return _BITWISE[op], operands
    if op == "bitwise_not":  # `~n` is `-n - 1`
        return "sub", {"input": apply("neg", operands, None, frame), "other": frame.graph.constant(1)}
    return op, operands


def _is_whole(value: Value) -> bool:
    """Whether a value is known to hold whole numbers that are no truth values."""
    if isinstance(value.default(), bool):
        return False
    beyond = value.interval.integral and not value.interval.subset_of(BOOLEAN)
    return beyond or value.dtype in INTEGERS or (value.kind is Kind.NUMBER and value.dtype != "bool")


def _canonical_power(operands: dict[str, Value], frame: Frame) -> tuple[str, dict[str, Value]]:
    base, exponent = operands["input"], operands["exponent"].constant()
    if base.kind is Kind.NUMBER:
        return "pow", operands
    if exponent == 0.5:
        return "sqrt", {"input": base}
    if exponent == -0.5:
        return "rsqrt", {"input": base}
    if exponent == -1:
        return "div", {"input": frame.graph.constant(1), "other": base}
    return "pow", operands


def _folded(op: str, operands: Mapping[str, Value], node: ast.AST | None, frame: Frame) -> Value | None:
    if op not in _FOLD and op not in ("neg", "logical_not"):
        return None
    data: list[Any] = []
    named = op in ("eq", "ne")
    if op in _TRUTHS and any(v.assumed for v in operands.values()):
        return None  # a default that names a mode stands for any
    for value in operands.values():
        text = named and value.kind is Kind.STRING
        if value.op != "const" or not (value.kind is Kind.NUMBER or text):
            return None
        data.append(value.data)
    try:
        if op == "neg" and len(data) == 1:
            result = -data[0]
        elif op == "logical_not" and len(data) == 1:
            result = not data[0]
        elif op in _FOLD and len(data) == 2 and not _huge(op, data):
            result = _FOLD[op](data[0], data[1])
        else:
            return None
    except (ArithmeticError, ValueError, TypeError):
        return None
    if not isinstance(result, bool | int | float):
        return None
    value = frame.graph.constant(result, node)
    value.module = frame.module
    return _settable(value, op, operands, frame) if any(v.assumed for v in operands.values()) else value


def _settable(value: Value, op: str, operands: Mapping[str, Value], frame: Frame) -> Value:
    """What is folded of a number that a caller may override: any that the operation yields."""
    value.assumed = True
    value.key = frame.graph.key(op, *operands, *(v.key for v in operands.values()))
    known = value.interval, value.zero, value.ends
    sound = {name: unassumed(v) for name, v in operands.items()}
    value.interval, value.zero, value.ends = _extent(op, sound, frame, FORMATS["float64"])
    value.belief = belief_in(*known, value, operands.values())
    return value


def _huge(op: str, data: list[Any]) -> bool:
    return op == "pow" and (abs(data[0]) > 1e6 or abs(data[1]) > 400)


def _build(op: str, operands: Mapping[str, Value], node: ast.AST | None, frame: Frame) -> Value:
    values = list(operands.values())
    assumed = held = False
    for operand in values:
        assumed = assumed or operand.assumed
        held = held or operand.belief is not None
    kind = kind_of(op, [v for name, v in operands.items() if name not in _MODES])
    if kind is Kind.UNKNOWN and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        kind = Kind.TENSOR  # `torch.remainder(x, n)`, `x.abs()`: what operators yield may be a number
    if kind is Kind.TENSOR and frame.module.is_of_arrays and not any(v.kind is kind for v in values):
        kind = Kind.ARRAY
    key = frame.graph.fresh() if op in _RANDOM else frame.graph.key(op, *operands, *[v.key for v in values])
    if not frame.session.measures:
        return Value(op, key, kind, operands, node=node, module=frame.module)
    dtype = _dtype_of(op, operands, frame)
    wide = kind is Kind.NUMBER or dtype in INTEGERS
    fmt = FORMATS.get(dtype or "") or FORMATS["float64" if wide else "float32"]
    sound = {n: unassumed(v) for n, v in operands.items()} if assumed else operands
    if op in _PLACING and dtype in INTEGERS:  # -1 is 255 in uint8
        lies = {n: transfer.held_in(dtype, v.interval) for n, v in sound.items() if v.kind is Kind.NUMBER}
        wrapped = {n: held for n, held in lies.items() if held != sound[n].interval}
        sound = {**sound, **{n: replace(sound[n], op="held", interval=held) for n, held in wrapped.items()}}
    interval, zero, ends = _extent(op, sound, frame, fmt)
    if transfer.wraps(op, dtype, interval):
        interval, zero, ends = transfer.held_in(dtype, TOP), Attained.COINCIDENCE, Attained.COINCIDENCE
    value = Value(op, key, kind, operands, interval, zero, ends, dtype, node, frame.module)
    value.peak = peaks(op, sound)
    value.guard = transfer.guard_of(op, operands, interval)
    if held:
        taken = {name: believed(v) for name, v in operands.items()}
        extent = _extent(op, taken, frame, fmt)
        within = not transfer.wraps(op, dtype, extent[0])
        belief = belief_in(*extent, value, values) if within else None
        value.belief = replace(belief, peak=peaks(op, taken)) if belief is not None else None
    if "dtype" not in operands and (value.belief is None or value.belief.interval.contains(0.0)):
        value.belief = belief_of(value, operands, frame.state) or value.belief
    if value.belief is not None and not value.belief.on:  # tests have shown what it rests on
        value.interval, value.peak, value.belief = value.belief.interval, value.belief.peak, None
    if op in _ADDING and not interval.contains(0.0):
        _let_be_empty(value, operands, frame.state)
    return value


def _let_be_empty(value: Value, operands: Mapping[str, Value], state: State) -> None:
    """What is added up of elements of which there may be none: 0 then, which is not believed."""
    operand, on = operands.get("input"), filled_if(operands, state)
    if operand is not None and can_be_empty(operand, state):
        on += keeps_rows(operands) or ()
    if not on:
        return
    known = believed(value)
    before = value.belief.on if value.belief is not None else ()
    value.belief = Belief(known.interval, known.zero, known.ends, (*before, *on))
    value.interval, value.zero = value.interval.join(Interval.point(0.0)), Attained.COINCIDENCE


def _extent(
    op: str, operands: Mapping[str, Value], frame: Frame, fmt: FloatFormat
) -> tuple[Interval, Attained, Attained]:
    """Where an operation's result lies, and how well founded a 0 and the ends of that are."""
    ranges = _ranges(op, operands, frame, fmt)
    interval = transfer.result_interval(op, operands, ranges, fmt)
    if "dtype" in operands:
        interval = transfer.held_in(element_type(operands["dtype"]), interval)
    elif op in CUTS:
        interval = transfer.held_in(CUTS[op], interval)
    elif op in _INTO and "input" in operands:
        interval = transfer.held_in(operands["input"].dtype, interval)
    interval = _of_as_many(op, operands, interval, frame)
    known = _narrow(operands, ranges) if frame.state.narrows else operands
    zero, ends = attainability(op, known, interval)
    blend = blended(operands, frame) if op == "add" and not interval.lo > 0 else None
    if blend is not None:
        interval, zero = blend
    if not interval.contains(0.0):
        zero = Attained.NONE
    return interval, zero, ends


def _dtype_of(op: str, operands: Mapping[str, Value], frame: Frame) -> str | None:
    """The dtype that a call, its layer or the program's default names, or that the operands lead to."""
    source = operands.get("dtype") or operands.get("layer")
    named = element_type(source) if source is not None else None
    if named is not None:
        return named
    if op in CREATIONS:
        return frame.session.default_dtype
    if op in _INTO and "input" in operands:
        return operands["input"].dtype
    given = [v for name, v in operands.items() if name not in _SELECTORS]
    promoted = transfer.promoted_dtype(op, given, frame.session.default_dtype)
    if frame.state.autocast is not None and promoted != "float64":
        if op in _NARROWED:
            return frame.state.autocast
        if op in _WIDENED:
            return "float32"
    return promoted


def element_type(source: Value) -> str | None:
    """The element type that an argument is, or has: `torch.int32`, `"torch.LongTensor"`, `y.dtype`, a layer."""
    if source.kind in (Kind.NAMESPACE, Kind.STRING) and isinstance(source.data, str):
        root, _, name = source.data.partition(".")
        types = _PYTHON_TYPES if root == "builtins" else TENSOR_TYPES
        return types.get(name.rpartition(".")[2]) or source.dtype
    return source.dtype


def _ranges(op: str, operands: Mapping[str, Value], frame: Frame, fmt: FloatFormat) -> dict[str, Interval]:
    """Where the operands lie; a Python constant, and a tensor of a wider type, takes the format of the tensor it meets."""
    effective = frame.state.effective if frame.state.narrows else None
    ranges: dict[str, Interval] = {}
    for name, value in operands.items():
        interval = value.interval if effective is None else effective(value)
        if value.kind is Kind.NUMBER:
            interval = interval.rounded(fmt)
        elif (
            value.dtype in FORMATS and value.dtype != fmt.name and (fmt.is_narrow or value.dtype == "float64")
        ):
            interval = interval.rounded(fmt, underflow=True)
        ranges[name] = interval
    return ranges


def _narrow(operands: Mapping[str, Value], ranges: Mapping[str, Interval]) -> Mapping[str, Value]:
    """Operands as the branch knows them: a tested range is as well founded as its test."""
    changed = {
        n: v
        for n, v in operands.items()
        if ranges[n] is not v.interval and ranges[n] != v.interval and v.kind is not Kind.NUMBER
    }
    if not changed:
        return operands
    result = dict(operands)
    for name, value in changed.items():
        result[name] = restricted(value, value.key, ranges[name], "branch")
    return result


def _of_as_many(op: str, operands: Mapping[str, Value], interval: Interval, frame: Frame) -> Interval:
    """A total of what has an element that is not 0 is not 0; that of a selection may be one of none."""
    operand, own = operands.get("input"), of_own_rows(op, operands, interval)
    interval = own[0] if own is not None and own[1] is None else interval
    if op in _PRODUCTS and any(can_be_empty(v, frame.state) for v in operands.values()):
        return interval.join(Interval.point(0.0))
    if op == "prod" and operand is not None and can_be_empty(operand, frame.state):
        return interval.join(Interval.point(1.0))
    if op in _ADDING and operand is not None and not interval.contains(0.0):
        spares = keeps_rows(operands) is not None or not can_be_empty(operand, frame.state)
        return interval if spares else interval.join(Interval.point(0.0))
    return total_of_some(op, operands, interval, frame.state.selecting) or interval


def kind_of(op: str, values: list[Value]) -> Kind:
    """What sort of thing an operation yields."""
    fixed = _KINDS.get(op)
    if fixed is not None:
        return fixed
    if op.startswith(("math.", "python.")):
        return Kind.NUMBER
    kinds = {v.kind for v in values}
    if Kind.ARRAY in kinds and Kind.STRING not in kinds:
        return Kind.TENSOR if Kind.TENSOR in kinds else Kind.ARRAY
    if op in _ARITHMETIC or op in _TRUTHS:
        if Kind.FOREIGN in kinds or Kind.STRING in kinds:
            return Kind.FOREIGN
        if Kind.TENSOR in kinds:
            return Kind.TENSOR
        if kinds == {Kind.NUMBER}:
            return Kind.NUMBER
        return Kind.UNKNOWN
    if op == "index":
        return values[0].kind if values[0].kind in (Kind.TENSOR, Kind.FOREIGN, Kind.NUMBER) else Kind.UNKNOWN
    if op in VIEWS or op in SELECTIONS:
        return values[0].kind if values and values[0].kind in (Kind.TENSOR, Kind.FOREIGN) else Kind.TENSOR
    if Kind.FOREIGN in kinds and op in _OF_ARRAYS:
        return Kind.FOREIGN
    return Kind.TENSOR
