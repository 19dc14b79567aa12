"""Evaluates the `where` and `when` predicates of rule pages over a match."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stablelint.analysis.hints import names_a_mask
from stablelint.analysis.judge import differentiable
from stablelint.analysis.provenance import (
    is_chance_test,
    is_kept,
    is_mask_of_lengths,
    is_measured,
    is_passed_mask,
    is_trained,
    is_whole_mask,
    needs_agreement,
    vanishes_with_data,
)
from stablelint.analysis.selections import leaves_out_padding, selecting_mask
from stablelint.analysis.suited import is_floating
from stablelint.analysis.value import NONEMPTY, Ground, Kind, Value
from stablelint.analysis.views import stripped
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.formats import BFLOAT16, FLOAT16, FORMATS, round_to
from stablelint.numerics.interval import Interval

if TYPE_CHECKING:
    from stablelint.analysis.state import Frame

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SPARING = frozenset(
    "triu tril eye amax cummax topk sort kthvalue cumsum".split()
)  # of which each row keeps an element
_WEIGHTS = frozenset("exp softplus sigmoid softmax pow".split())  # may all underflow, yet select nothing
_HALF = ("float16", "bfloat16")


@dataclass(slots=True)
class Context:
    """A match with what the path knows of its bindings."""

    root: Value
    bindings: Mapping[str, Value]
    ranges: Mapping[str, Interval]
    autocast: str | None
    half_shown: bool  # the file shows that it is run in half precision
    nonempty: frozenset[int] = frozenset()  # keys of what the path has shown to have an element
    plural: frozenset[int] = frozenset()  # keys of what the path has shown to have several
    gradient: bool = True  # gradients are recorded at this place
    half_used: bool = False  # the file is a script that casts to half precision itself
    frame: Frame | None = None  # where the match stands
    weak: bool = False  # a predicate held for want of knowledge, not by evidence


def holds(predicate: Predicate, context: Context) -> bool:
    """Whether a predicate is satisfied; one over unbound metavariables is left out."""
    if not predicate.metavariables <= context.bindings.keys():
        return True
    return _TABLE[predicate.name](predicate, context) != predicate.negated


def _value(predicate: Predicate, context: Context, position: int = 0) -> Value:
    return context.bindings[str(predicate.args[position])]


def _dtype(predicate: Predicate, context: Context) -> bool:
    dtype = _value(predicate, context).dtype
    if dtype is None:
        return False
    return (dtype == predicate.value) == (predicate.op == "==")


def _half(predicate: Predicate, context: Context) -> bool:
    return _value(predicate, context).dtype in _HALF


def maybe_half(value: Value, context: Context) -> bool:
    """Whether something in the program shows that the value can be half precision."""
    if value.dtype is not None:
        return value.dtype in _HALF
    if value.kind is Kind.NUMBER:
        return False
    if _upcast(value):
        return False
    if context.autocast in _HALF or context.half_used:
        return True
    context.weak = context.weak or context.half_shown
    return context.half_shown


def _upcast(value: Value, depth: int = 12) -> bool:
    if depth == 0:
        return False
    if value.dtype in ("float32", "float64") or value.op in ("float", "double"):
        return True
    return any(_upcast(v, depth - 1) for v in value.operands.values())


def _maybe_half(predicate: Predicate, context: Context) -> bool:
    return maybe_half(_value(predicate, context), context)


def _range(predicate: Predicate, context: Context) -> bool:
    interval = replace(context.ranges[str(predicate.args[0])], nan=False)
    bound = float(predicate.value or 0.0)
    op = predicate.op or "=="
    if op in (">", ">="):
        region = Interval(bound, float("inf"), lo_open=op == ">")
    elif op in ("<", "<="):
        region = Interval(float("-inf"), bound, hi_open=op == "<")
    elif op == "==":
        return interval.is_point and interval.lo == bound
    else:
        return not interval.contains(bound)
    return interval.subset_of(region)


def _nonnegative(predicate: Predicate, context: Context) -> bool:
    return context.ranges[str(predicate.args[0])].lo >= 0


def _positive(predicate: Predicate, context: Context) -> bool:
    """Both are above 0; where what made them shows no way to the 0 that is in their range, it is in doubt."""
    proved = doubted = True
    for place, name in enumerate(predicate.args):
        interval = context.ranges[str(name)]
        above = interval.lo > 0 or (interval.lo == 0 and interval.lo_open)
        proved = proved and above
        doubted = doubted and (
            above or (interval.lo >= 0 and _value(predicate, context, place).zero < Ground.SATURATION)
        )
    context.weak = context.weak or doubted
    return proved


def _reaches(predicate: Predicate, context: Context) -> bool:
    value = _value(predicate, context)
    point = float(predicate.args[1])
    interval = context.ranges[str(predicate.args[0])]
    if not interval.contains(point):
        return False
    if point == 0 and (needs_agreement(value) or _in_metric(context)):
        context.weak = True
    return (value.zero if point == 0 else value.ends) >= Ground.SATURATION


def _vanishes(predicate: Predicate, context: Context) -> bool:
    """A positive constant that the other's format rounds to 0 (or to 1 where it is near 1)."""
    constant, other = _value(predicate, context), _value(predicate, context, 1)
    number = constant.constant()
    if not isinstance(number, int | float) or number == 0:
        return False
    formats = [FORMATS[other.dtype]] if other.dtype in FORMATS else []
    if not formats and maybe_half(other, context):
        formats = [BFLOAT16 if context.autocast == "bfloat16" else FLOAT16]
    return any(round_to(float(number), f) in (0.0, 1.0) and number != 1 for f in formats)


def _literal(predicate: Predicate, context: Context) -> bool:
    return isinstance(_value(predicate, context).constant(), int | float)


def _fractional(predicate: Predicate, context: Context) -> bool:
    number = _value(predicate, context).constant()
    return isinstance(number, float) and not number.is_integer()


def _chosen(predicate: Predicate, context: Context) -> bool:
    """A caller may choose any number: the default is whole, but it is written, or annotated, as a float."""
    value = _value(predicate, context)
    number = value.constant()
    if number is not None and (not value.assumed or not isinstance(number, int | float) or number % 1):
        return False
    if isinstance(number, float):
        return True
    parameter = value.node
    if (number is None and value.op != "argument") or not isinstance(parameter, ast.arg):
        return False
    return isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "float"


def _inverse(predicate: Predicate, context: Context) -> bool:
    """One over a value, or that and a whole number: `1 / alpha - 1`."""
    value = stripped(_value(predicate, context))
    while value.op in ("add", "sub") and value.operands["other"].is_constant:
        value = stripped(value.operands["input"])
    dividend, divisor = value.operands.get("input"), value.operands.get("other")
    if value.op != "div" or dividend is None or divisor is None:
        return False
    return isinstance(dividend.constant(), int | float) and not divisor.is_constant


def _learned(predicate: Predicate, context: Context) -> bool:
    return _is_learned(_value(predicate, context), 4)


def _is_learned(value: Value, depth: int) -> bool:
    value = stripped(value)
    if value.op != "phi" or not depth:
        return value.op == "parameter"
    return any(_is_learned(path, depth - 1) for path in value.operands.values())


def _same(predicate: Predicate, context: Context) -> bool:
    return stripped(_value(predicate, context)).key == stripped(_value(predicate, context, 1)).key


def _last_dim(predicate: Predicate, context: Context) -> bool:
    return bool(_value(predicate, context).constant() == -1)


def _tensor(predicate: Predicate, context: Context) -> bool:
    return _value(predicate, context).kind in (Kind.TENSOR, Kind.UNKNOWN)


def _python(predicate: Predicate, context: Context) -> bool:
    return _value(predicate, context).kind is Kind.NUMBER


def _integral(predicate: Predicate, context: Context) -> bool:
    value = stripped(_value(predicate, context))
    whole = value.interval.integral or (value.dtype or "").startswith(("int", "uint", "bool"))
    return whole or (value.op == "sum" and value.first is not None and _is_mask(value.first, 4))


def _is_mask(value: Value, depth: int) -> bool:
    """Whether a value, or what it is the complement of, is called a mask."""
    value = stripped(value)
    if names_a_mask(value.name):
        return True
    if value.op not in ("sub", "rsub", "logical_not") or not depth:
        return False
    others = [v for v in value.operands.values() if v.constant() != 1]
    return len(others) == 1 and _is_mask(others[0], depth - 1)


def _floating(predicate: Predicate, context: Context) -> bool:
    return is_floating(_value(predicate, context))


def _boolean(predicate: Predicate, context: Context) -> bool:
    return stripped(_value(predicate, context)).dtype == "bool" or _value(predicate, context).dtype == "bool"


def _shifted(predicate: Predicate, context: Context) -> bool:
    """At most 0, because a maximum (or something as large) was subtracted."""
    value = _value(predicate, context)
    return value.peak or context.ranges[str(predicate.args[0])].hi <= 0


def _masked_rows(predicate: Predicate, context: Context) -> bool:
    """Masked by something that is not known to spare an element of each row, as a causal mask does."""
    value = stripped(_value(predicate, context))
    mask = value.operands.get("mask") or value.operands.get("condition")
    if mask is None or _spares(mask, 8):
        return False
    if is_kept(mask) or is_mask_of_lengths(mask):
        context.weak = True  # a pattern made once, by one who saw it; positions up to a length
    return True


def _spares(mask: Value, depth: int) -> bool:
    if mask.op in _SPARING or _is_diagonal(mask):
        return True
    if depth == 0 or mask.op == "arange":
        return False
    return any(_spares(v, depth - 1) for v in mask.operands.values())


def _is_diagonal(value: Value) -> bool:
    """Whether a diagonal was assigned: `adjacency[:, i, i] = 1`."""
    if value.op != "overwritten" or not isinstance(value.data, Value) or value.data.kind is not Kind.SEQUENCE:
        return False
    places = [part.key for part in value.data.data if part.kind is Kind.TENSOR]
    return len(places) == 2 and len(set(places)) == 1


def _single(predicate: Predicate, context: Context) -> bool:
    """Nothing shows that the reduction runs over more than one element."""
    value = stripped(_value(predicate, context))
    if value.key in context.plural or value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return False
    context.weak = True
    return True


def _in_metric(context: Context) -> bool:
    return context.frame is not None and is_measured(context.frame.function, context.frame.module)


def _can_vanish(predicate: Predicate, context: Context) -> bool:
    """All elements can be 0 at once: raw data, a difference; of what a network yields that is no more than possible."""
    value = _value(predicate, context)
    if stripped(value).op != "sub" and not vanishes_with_data(value):
        context.weak = True
    return True


def _differentiable(predicate: Predicate, context: Context) -> bool:
    """A gradient can flow through it; that one does must be seen, or the match is weak."""
    value, frame = _value(predicate, context), context.frame
    if frame is not None and not is_trained(value, frame):
        context.weak = True
    return differentiable(value, context.gradient)


def _emptiable(predicate: Predicate, context: Context) -> bool:
    """Nothing on the path shows that some element is true; a metric's mean of nothing is NaN by its meaning."""
    total = context.bindings.get("n")
    if total is not None and is_whole_mask(total):
        context.weak = True
    operand = context.root.first
    if operand is not None and stripped(operand).key in context.nonempty:
        return False
    mask = stripped(_value(predicate, context))
    if mask.op in _WEIGHTS:
        return False
    return _can_be_false(mask, context)


def _selection(predicate: Predicate, context: Context) -> bool:
    """What a mask selects, and nothing on the path shows that this is anything."""
    value = _value(predicate, context)
    mask = selecting_mask(value)
    if mask is None or stripped(value).key in context.nonempty:
        return False
    if is_passed_mask(mask):
        context.weak = True
    return _can_be_false(mask, context)


def _can_be_false(mask: Value, context: Context) -> bool:
    """Whether a mask may be false throughout."""
    if _in_metric(context) or is_kept(mask) or is_chance_test(mask):
        context.weak = True  # made once, by one who saw it; drawn at random; positions up to a length
    if leaves_out_padding(mask):
        context.weak = True  # a batch is not padding throughout
    return mask.key not in context.nonempty and not _is_shown(context.root, mask.key, 6)


def _is_shown(value: Value, mask: int, depth: int) -> bool:
    """Whether the selection by a mask comes from a path that had shown it to hold an element."""
    index = value.operands.get("index") or value.operands.get("mask")
    if index is not None and stripped(index).key == mask and value.guard == NONEMPTY:
        return True
    return depth > 0 and any(_is_shown(v, mask, depth - 1) for v in value.operands.values())


def _keyword(predicate: Predicate, context: Context) -> bool:
    return str(predicate.args[0]) in context.root.operands


_TABLE: dict[str, Callable[[Predicate, Context], bool]] = {
    "dtype": _dtype,
    "half": _half,
    "maybe_half": _maybe_half,
    "range": _range,
    "nonnegative": _nonnegative,
    "positive": _positive,
    "reaches": _reaches,
    "vanishes": _vanishes,
    "literal": _literal,
    "fractional": _fractional,
    "chosen": _chosen,
    "inverse": _inverse,
    "learned": _learned,
    "same": _same,
    "last_dim": _last_dim,
    "tensor": _tensor,
    "python": _python,
    "integral": _integral,
    "floating": _floating,
    "boolean": _boolean,
    "shifted": _shifted,
    "masked_rows": _masked_rows,
    "single": _single,
    "differentiable": _differentiable,
    "can_vanish": _can_vanish,
    "emptiable": _emptiable,
    "selection": _selection,
    "keyword": _keyword,
}
