"""Operations that select, fill or build, where more than the range of operands decides."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from stablelint.analysis.interpret.operations import layers
from stablelint.analysis.interpret.operations.apply import apply, element_type
from stablelint.analysis.interpret.operations.sizes import counted, number_of_elements, size_of
from stablelint.analysis.interpret.paths.narrowing import kept_by, open_to_callers
from stablelint.analysis.interpret.statements.assignment import masked
from stablelint.analysis.interpret.statements.writing import trainable, trained
from stablelint.analysis.values import lists
from stablelint.analysis.values.families import CONDITIONS, HANDED_OVER, SETTINGS
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import FILLED, can_be_empty
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.transfer import held_in, is_complex
from stablelint.analysis.values.value import Attained, Belief, Kind, Value, believed, join, of_any, unpacked
from stablelint.numerics.interval import AT_LEAST_ONE, COUNT, Interval
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having

_UNTOLD = HANDED_OVER | {"starred"}
Special = Callable[[str, dict[str, Value], ast.AST, Frame], Value | None]


def _where(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`where(c, a, b)`: a where c holds, b elsewhere, each narrowed by the test; `where(c)`: the places of its truths."""
    condition, chosen, other = (operands.get(n) for n in ("condition", "input", "other"))
    if condition is not None and len(operands) == 1:
        return apply("nonzero", {"input": condition, "as_tuple": frame.graph.constant(True)}, node, frame)
    if condition is None or chosen is None or other is None:
        return None
    if not _is_test(condition):  # the method form: x.where(condition, other)
        if _is_test(chosen):
            condition, chosen = chosen, condition
    narrowed = {
        "condition": condition,
        "input": kept_by(condition, True, chosen, frame),
        "other": kept_by(condition, False, other, frame),
    }
    return apply("where", narrowed, node, frame)


def _is_test(value: Value) -> bool:
    return value.dtype == "bool" or value.op in CONDITIONS


def _masked_fill(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    if not {"input", "mask", "value"} <= operands.keys():
        return None
    base, fill = masked(operands["input"], operands["mask"], operands["value"], frame)
    return apply("masked_fill", {"input": base, "mask": operands["mask"], "value": fill}, node, frame)


def _masked_select(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    if not {"input", "mask"} <= operands.keys():
        return None
    base = operands["input"]
    kept = kept_by(operands["mask"], True, base, frame)
    return apply("index", {"input": kept, "index": operands["mask"]}, node, frame)


def _filled(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`full`, `fill_`, `full_like`: every element is the fill value."""
    fill = operands.get("fill_value") or operands.get("value")
    if fill is None:
        return None
    source = operands.get("dtype") or operands.get("input")
    dtype = source.dtype if source is not None else None
    if source is None:
        whole = {int: "int64", bool: "bool"}.get(type(fill.constant()))
        dtype = fill.dtype if is_complex(fill) else whole or frame.session.default_dtype
    kept = {"fill_value": fill, **_extents(operands, frame)}
    held = held_in(dtype, fill.interval)
    if dtype is None and held_in("float32", held).contains(0.0):
        # Too small for what it is most often, but where doubles are the default.
        held = held_in("float32", held)
    zero = fill.zero if held == fill.interval or not held.contains(0.0) else Attained.SATURATION
    # As a double or a single: 1 - 1e-9 is 1 in the latter.
    lies = held.join(held_in("float32", held)) if dtype is None else held
    value = Value(
        "full", frame.graph.fresh(), Kind.TENSOR, kept, lies, zero, fill.ends, dtype, node, frame.module
    )  # fmt: skip
    if op == "fill_" and frame.reporting:
        frame.session.observe(value, frame)
    if held != fill.interval:
        return value
    of_unknown = source is not None and dtype is None and fill.interval.is_bounded
    return _held(of_any(value, [fill])) if of_unknown else of_any(value, [fill])


def _constant_fill(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    value = 0.0 if op.startswith("zero") else 1.0
    zero = Attained.EXACT if value == 0.0 else Attained.NONE
    source = operands.get("dtype") or operands.get("input")
    dtype = source.dtype if source is not None else frame.session.default_dtype
    name, kept = "zeros" if value == 0.0 else "ones", _extents(operands, frame)
    return Value(
        name, frame.graph.fresh(), Kind.TENSOR, kept, Interval.point(value), zero, Attained.EXACT, dtype, node, frame.module
    )  # fmt: skip


def _extents(operands: dict[str, Value], frame: Frame) -> dict[str, Value]:
    """How large a filled tensor is and where it lies: nothing of what it is like, but that this may be empty."""
    like = operands.get("input")
    emptiable = {FILLED: like} if like is not None and can_be_empty(like, frame.state) else {}
    sizes = {n: v for n, v in operands.items() if n in ("size", "device") or n.startswith("more")}
    return sizes | emptiable


def _tensor(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    data = operands.get("data") or operands.get("input")
    dtype = operands["dtype"].dtype if "dtype" in operands else data.dtype if data is not None else None
    if "dtype" not in operands and any(map(is_complex, lists.innermost(data) if data is not None else [])):
        dtype = "complex64"
    if data is None or (
        data.kind in (Kind.ARRAY, Kind.FOREIGN, Kind.UNKNOWN) and not lists.elements_of(data)
    ):
        known = data if data is not None and data.kind is Kind.ARRAY else frame.graph.unknown()
        return Value(
            "tensor", frame.graph.fresh(), Kind.TENSOR, {"data": data} if data else {}, known.interval, known.zero,
            known.ends, dtype, node, frame.module,
        )  # fmt: skip
    parts = lists.innermost(data)
    if "dtype" not in operands and all(type(part.constant()) is int for part in parts):
        dtype = "int64"
    default = frame.session.default_dtype or "float32"
    if dtype is None and "dtype" not in operands and all(part.kind is Kind.NUMBER for part in parts):
        dtype = default if any(type(part.constant()) is float for part in parts) else None
    interval, zero = parts[0].interval, parts[0].zero
    for part in parts[1:]:
        interval, zero = interval.join(part.interval), max(zero, part.zero)
    if not interval.is_point:
        zero = min(zero, Attained.COINCIDENCE)  # some of the literals are 0, and which is read is not known
    interval = held_in(dtype or default, interval)
    value = Value(
        "tensor", frame.graph.key("tensor", dtype, data.key), Kind.TENSOR, {"data": data}, interval, zero,
        min(p.ends for p in parts), dtype, node, frame.module,
    )  # fmt: skip
    frame.observed(value)
    of_unknown = "dtype" in operands and dtype is None
    return _held(of_any(value, parts)) if of_unknown else of_any(value, parts)


def _joined(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`cat`, `stack`: elements of all the tensors; shown to matchers."""
    value = _join_of(op, operands, node, frame)
    return None if value is None else frame.observed(value)


def _join_of(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    tensors = operands.get("tensors")
    if tensors is None:
        return None
    dim = operands.get("dim")
    along = dim.key if dim is not None else 0
    if tensors.kind is not Kind.SEQUENCE or not tensors.data:
        elements = lists.elements_of(tensors) if lists.is_list(tensors) else []
        key = frame.graph.key(op, along, tensors.key)
        source = join(frame.graph, elements) if elements else frame.graph.unknown()
        return Value(
            op,
            key,
            Kind.TENSOR,
            {"input": source},
            source.interval,
            source.zero,
            source.ends,
            node=node,
            module=frame.module,
        )
    interval = tensors.data[0].interval
    for part in tensors.data[1:]:
        interval = interval.join(part.interval)
    parts = {f"tensor{i}": v for i, v in enumerate(tensors.data)}
    key = frame.graph.key(op, along, *(v.key for v in tensors.data))
    zero, ends = max(v.zero for v in tensors.data), min(v.ends for v in tensors.data)
    dtypes = {v.dtype for v in tensors.data}
    if any(map(is_complex, tensors.data)):
        dtypes = {"complex64"}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    value = Value(op, key, Kind.TENSOR, parts, interval, zero, ends, dtype, node, frame.module, dim)
    return of_any(value, tensors.data)


def _viewed(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`x.view(torch.int32)`: the bits of the elements, read as another type; `x.view(n)` is assumed to be none."""
    given = list(operands.values())
    typed = next((v for v in given if v.op == "dtype" or v.name == "dtype"), operands.get("dtype"))
    if typed is not None and "input" in operands:
        return apply("bits", {"input": operands["input"], "dtype": typed}, node, frame)
    shapes = len(given) != 2 or given[1].kind is not Kind.UNKNOWN or given[1].op not in _UNTOLD
    if shapes or not (isinstance(node, ast.Call) and called_name(node) == "view"):  # `reshape` takes no type
        return None
    view = apply(op, operands, node, frame)
    return open_to_callers(view, view.key, f"{given[1].name or 'what it is viewed as'} is no type", ())


def _cast(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`x.to(dtype)`, `x.to(y)`, `x.type_as(y)`: the dtype changes where it is named, or to that of a tensor."""
    source = operands.get("input")
    if source is None:
        return None
    if source.kind is Kind.LAYER or source.kind is Kind.INSTANCE:
        return layers.cast(source, next((v.dtype for v in operands.values() if v.dtype), None), frame)
    typed = [v for n, v in operands.items() if n != "input" and element_type(v) is not None]
    result = apply(op, {"input": source, **({"dtype": typed[0]} if typed else {})}, node, frame)
    like_other = op == "type_as" or any(v.kind is Kind.TENSOR for n, v in operands.items() if n != "input")
    unnamed = like_other or any(map(_names_type, (v for n, v in operands.items() if n != "input")))
    result.dtype = element_type(typed[0]) if typed else (None if unnamed else source.dtype)
    result.data = next((v for n, v in operands.items() if n in ("dtype", "device") and v.dtype is None), None)
    return result if typed or not unnamed else _held(result)


def _names_type(value: Value) -> bool:
    """Whether an argument may be a type that is not known, or a tensor of one: somebody else chooses it."""
    return (
        value.op in SETTINGS and (value.kind is Kind.UNKNOWN or value.name == "dtype") and value.dtype is None
    )


def _held(value: Value) -> Value:
    """What is cast to a type that nobody names: the shortest may hold less of it, and is assumed to hold it."""
    least = held_in("float16", value.interval).join(held_in("int64", value.interval))
    if least.contains(0.0) and not value.interval.contains(0.0):
        known, on = believed(value), value.belief.on if value.belief is not None else ()
        on = (*on, Assumption(f"{value.name or 'the cast'} is of a type that holds numbers as small"))
        value.belief = Belief(known.interval, known.zero, known.ends, on)
        value.interval, value.zero = least, Attained.COINCIDENCE
    return value


def _typed(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`x.sum(dtype=kind)`: as a type holds it that nobody names."""
    kind = operands.get("dtype")
    unnamed = kind is not None and element_type(kind) is None and _names_type(kind)
    return _held(apply(op, operands, node, frame)) if unnamed else None


def _size(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    tensor = operands.get("input")
    if tensor is None:
        return None
    if op == "size" and "dim" not in operands:
        return Value(
            "shape", frame.graph.key("shape", tensor.key), Kind.UNKNOWN, {"input": tensor}, node=node
        )
    along = operands.get("dim")
    if op == "numel" or along is None:
        return number_of_elements(tensor, node, frame)
    return size_of(tensor, node, frame, along.key, along.constant())


def _pair(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`std_mean`, `var_mean`, `aminmax`: two reductions at once."""
    names = {"std_mean": ("std", "mean"), "var_mean": ("var", "mean"), "aminmax": ("amin", "amax")}[op]
    return frame.graph.sequence([apply(name, operands, node, frame) for name in names], node)


def _count(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`arange(n)`, `arange(0, n)`, `linspace(a, b, n)`: there is something to count."""
    end = operands.get("steps") or operands.get("n")
    if op == "arange":
        end = operands.get("end") or operands.get("start")
    if end is not None:
        counted(end)
    return None


def _bincount(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`bincount(i, weights=w)`: weights, added up where an index says."""
    weights = operands.get("weights")
    if weights is None or weights.kind is Kind.NONE:
        return None
    return apply("scatter_sum", {"src": weights, "index": operands["input"]}, node, frame)


def _unique(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`unique(x, return_inverse=True, return_counts=True)`: each element is there at least once."""
    asked = [operands.get(f"return_{name}") for name in ("inverse", "counts")]
    if any(v is not None and not isinstance(v.constant(), bool) for v in asked) or "more0" in operands:
        return None
    taken = [v is not None and bool(v.data) for v in asked]
    if not any(taken):
        return None
    found = apply(op, {"input": operands["input"]}, node, frame)
    inverse = frame.graph.key("part", found.key, "inverse")
    parts = [Value("part", inverse, Kind.TENSOR, {"input": found}, COUNT, Attained.EXACT, dtype="int64")]
    counts = frame.graph.key("part", found.key, "counts")
    parts.append(Value("counts", counts, Kind.TENSOR, {"input": found}, AT_LEAST_ONE, dtype="int64"))
    return frame.graph.sequence([found, *(p for p, t in zip(parts, taken, strict=True) if t)], node)


def _finfo(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    kind = operands.get("type")
    key = frame.graph.key(op, kind.key if kind else 0)
    return Value(
        op, key, Kind.FOREIGN, {"type": kind} if kind else {}, dtype=kind.dtype if kind else None, node=node
    )


def _parameter(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`nn.Parameter(init)`: any finite value once it has been trained."""
    value = Value(
        "parameter", frame.graph.fresh(), Kind.TENSOR, operands, zero=Attained.COINCIDENCE,
        ends=Attained.COINCIDENCE, node=node, module=frame.module,
    )  # fmt: skip
    return frame.observed(value)


def _trained(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`x.requires_grad_()`: any finite value once it has been trained."""
    asked = operands.get("requires_grad")
    if "input" not in operands or (asked is not None and asked.constant() is False):
        return None
    value = replace(trainable(operands["input"], frame), node=node)
    trained([operands["input"]], frame)
    return frame.observed(value)


def _uniform(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    low, high = operands.get("from"), operands.get("to")
    start, stop = low.interval.lo if low else 0.0, high.interval.hi if high else 1.0
    dtype = operands["input"].dtype if "input" in operands else None
    interval = Interval(start, stop, hi_open=True) if start < stop else Interval.point(start)
    held = held_in(dtype or "float32", interval)
    interval = held if held.contains(0.0) and not interval.contains(0.0) else interval
    zero = Attained.EXACT if interval.contains(0.0) else Attained.NONE
    value = Value(
        "uniform_", frame.graph.fresh(), Kind.TENSOR, operands, interval, zero,
        Attained.EXACT, dtype, node, frame.module,
    )  # fmt: skip
    return frame.observed(value)


def _grids(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`meshgrid(a, b)`: each of them, repeated along the others."""
    given = unpacked([v for name, v in operands.items() if name == "tensors" or name.startswith("more")])
    tensors = len(given) > 1 and all(v.kind in (Kind.TENSOR, Kind.UNKNOWN) for v in given)
    grids = [apply("expand", {"input": one}, node, frame) for one in given]
    return frame.graph.sequence(grids, node) if tensors else None


def _reduced(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`einops.reduce(x, pattern, "mean")`, over dimensions that the pattern names."""
    asked = operands.get("reduction")
    name = _REDUCTIONS.get(asked.constant()) if asked is not None and "input" in operands else None
    if name is None:
        return None
    return apply(name, {"input": operands["input"], "dim": frame.graph.unknown(node=node)}, node, frame)


def _stft(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    asked = operands.get("return_complex")
    return apply("fft", operands, node, frame) if asked is not None and asked.constant() is True else None


def _hypot(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`hypot(x, y)`: the root of the sum of their squares."""
    if not {"input", "other"} <= operands.keys():
        return None
    two = frame.graph.constant(2)
    squares = {
        n: apply("pow", {"input": operands[n], "exponent": two}, None, frame) for n in ("input", "other")
    }
    return apply("sqrt", {"input": apply("add", squares, None, frame)}, node, frame)


def _logit(op: str, operands: dict[str, Value], node: ast.AST, frame: Frame) -> Value | None:
    """`logit(x, eps=0)`, which keeps x off nothing."""
    bound = operands.get("eps")
    kept = {name: v for name, v in operands.items() if name != "eps"}
    return (
        apply(op, kept, node, frame)
        if bound is not None and bound.interval.is_point and bound.constant() == 0
        else None
    )


_REDUCTIONS = {
    "mean": "mean",
    "sum": "sum",
    "max": "amax",
    "min": "amin",
    "prod": "prod",
}  # as einops calls them
SPECIAL: dict[str, Special] = {
    "where": _where,
    "masked_fill": _masked_fill,
    "masked_select": _masked_select,
    "full": _filled,
    "full_like": _filled,
    "fill_": _filled,
    "zeros": _constant_fill,
    "zeros_like": _constant_fill,
    "zero_": _constant_fill,
    "ones": _constant_fill,
    "ones_like": _constant_fill,
    "tensor": _tensor,
    "cat": _joined,
    "stack": _joined,
    "hstack": _joined,
    "vstack": _joined,
    "view": _viewed,
    "to": _cast,
    "type": _cast,
    "type_as": _cast,
    "size": _size,
    "numel": _size,
    "std_mean": _pair,
    "var_mean": _pair,
    "aminmax": _pair,
    "finfo": _finfo,
    "iinfo": _finfo,
    "parameter": _parameter,
    "requires_grad_": _trained,
    "uniform_": _uniform,
    "normal_": lambda _, operands, node, frame: apply("randn", operands, node, frame),
    "stft": _stft,
    "hypot": _hypot,
    "logit": _logit,
    "reduce": _reduced,
    "meshgrid": _grids,
    # `tqdm(x)`: something that yields what x does.
    "progress": lambda op, operands, node, frame: Value(
        op, frame.graph.fresh(), operands=operands, node=node, module=frame.module
    ),
    "arange": _count,
    "linspace": _count,
    "eye": _count,
    **dict.fromkeys(having("long"), _typed),
    "bincount": _bincount,
    "unique": _unique,
}
