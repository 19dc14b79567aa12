"""The forms that a value may have: what it was made of, and what it can be at its worst."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stablelint.analysis.matching.predicates.context import Context, value_of
from stablelint.analysis.matching.truth import Truth
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.relations.pairs import is_displacement, is_of_all_pairs
from stablelint.analysis.values.relations.vanishing import is_masked_difference
from stablelint.analysis.values.sorts import is_integral
from stablelint.analysis.values.value import Kind, Value, believed, unpacked
from stablelint.analysis.values.views import behind, stripped
from stablelint.catalog.predicates import Predicate
from stablelint.numerics.interval import TOP, Interval
from stablelint.syntax.names import is_name, spelled
from stablelint.syntax.operations import VIEWS, having

_KEEPS_RANK = having("elementwise")
_LAYERS = frozenset({"linear_module", "norm_module", "dropout"})
_TOTALS = having("total") & {"sum"}
_EXTREMES = having("extreme")
_MEASURES = having("total", "norm", "extreme")
_OF_MEASURES = frozenset("add sub mul abs".split())
_SCALING = having("scale")
_LINEAR_IN_EACH = having("linear") | VIEWS
_ROUNDED = having("saturate", "exponential", "wave", "row") - {
    "clamp"
}  # results that few numbers have for operands
_UNIFORM = having("draw") & having("floating") & having("exact")
_COARSE = 0.5  # of the spacing of the numbers near 1
_THROUGH = VIEWS | {"part"}


def form(predicate: Predicate, context: Context) -> Truth:
    """Whether a value has the form that the predicate is compared with, or has it not."""
    found = _FORMS[str(predicate.value)](value_of(predicate, context), context)
    answer = found if isinstance(found, Truth) else Truth.of(found)
    return answer if predicate.op == "==" else answer.negated()


def _chosen(value: Value, context: Context) -> Truth:
    """A caller may choose any number: the default is whole, but it is written, or annotated, as a float."""
    number = value.default()
    if number is not None and (not value.assumed or not isinstance(number, int | float) or number % 1):
        return Truth.NO
    if isinstance(number, float):
        return Truth.MAYBE
    parameter = value.node
    if (number is None and value.op != "argument") or not isinstance(parameter, ast.arg):
        return Truth.NO
    annotated = is_name(parameter.annotation, "float")
    return Truth.MAYBE if annotated else Truth.NO


def _free(value: Value, context: Context) -> Truth:
    """A tensor or an attribute that nothing shows to hold whole numbers; an argument without annotation mostly is one."""
    inner = stripped(value)
    named = inner.kind is Kind.TENSOR or inner.op != "argument"
    handed = not inner.is_constant and inner.op in HANDED_OVER - {"foreign"}
    return Truth.MAYBE if handed and named and not is_integral(value) else Truth.NO


def _is_trained(value: Value, depth: int = 4) -> bool:
    value = stripped(value)
    if value.op != "phi" or not depth:
        return value.op == "parameter"
    return any(_is_trained(path, depth - 1) for path in value.operands.values())


def _is_lengthened(value: Value, depth: int = 4) -> bool:
    if value.op != "phi" or not depth:
        return value.op == "unsqueeze"
    return any(_is_lengthened(path, depth - 1) for path in value.operands.values())


def _is_vector(value: Value) -> bool:
    """Whether what is drawn or filled has one size: it stands for no layer's matrix."""
    size, call = value.operands.get("size"), value.node
    if size is None or not isinstance(call, ast.Call) or len(call.args) != 1:
        return False
    return size.kind is Kind.NUMBER or len(getattr(call.args[0], "elts", ())) == 1


def _is_of_layer(value: Value) -> bool:
    """Whether it is what a method gives that writes into the weight of a layer: `layer.weight.data.fill_(1)`."""
    method = value.node.func if isinstance(value.node, ast.Call) else None
    written = spelled(method.value) if isinstance(method, ast.Attribute) else ""
    return written.removesuffix(".data").endswith(".weight")


def _is_matrix(value: Value, keeping: frozenset[str], depth: int = 12) -> bool:
    """Whether the last step that shapes a tensor gives it two dimensions: `x.view(n, -1)`, `x.flatten(1)`."""
    sizes = list(value.operands.values())[1:]
    if value.op == "flatten":
        return [one.constant() for one in sizes] == [1]
    if value.op in ("view", "reshape"):
        if value.node is None or any(isinstance(one, ast.Starred) for one in ast.walk(value.node)):
            return False
        named = unpacked(sizes)
        return len(named) == 2 and all(one.kind in (Kind.NUMBER, Kind.UNKNOWN) for one in named)
    if value.op == "phi":
        return bool(depth) and all(_is_matrix(one, keeping, depth - 1) for one in value.operands.values())
    alone = value.op == "dropout" or all(one.is_constant or one.kind is Kind.LAYER for one in sizes)
    keeps = bool(depth) and alone and value.op in keeping and value.first is not None
    return keeps and _is_matrix(value.first, keeping, depth - 1)  # type: ignore[arg-type]


def _gradient(value: Value, context: Context) -> bool:
    """The gradient that a tensor has gathered: `p.grad`, `p.grad.data`."""
    value = stripped(value)
    return value.op == "attribute" and value.name == "grad"


def _can_vanish(value: Value, context: Context) -> Truth:
    """All elements can be 0 at once, as a row that is paired with itself shows, and nothing excludes of raw data."""
    return Truth.YES if is_masked_difference(value) or is_of_all_pairs(value) else Truth.MAYBE


def _is_measure(value: Value, context: Context) -> bool:
    """What is 0 where all that is divided by it is, and never below, as far as is known.

    A union, `a + b - both` beneath `both`; a sum of totals; a norm, total or extent of what is divided; the extent of
    anything, as of raw samples of any type.
    """
    part = context.root.operands.get("input") if context.root.op == "div" else None
    if part is None:
        return False
    terms = list(_terms(value))
    added = [term for sign, term in terms if sign > 0]
    taken = [term for sign, term in terms if sign < 0]
    is_union = len(added) > 1 and all(term.key in _factors(part) and not term.is_constant for term in taken)
    if is_union and (taken or all(term.op in _TOTALS for term in added)):
        return True
    measures = list(_measures(value))
    lies = next(context.ranges[name] for name, one in context.bindings.items() if one is value)
    if not (lies.lo >= 0 or lies == TOP) or not measures or any(one.op not in _MEASURES for one in measures):
        return False
    divided = {one.key for one in behind(part) if not one.is_constant}
    of_divided = (one.key in divided for found in measures if found.first for one in behind(found.first))
    return all(one.op in _EXTREMES for one in measures) or any(of_divided)


def _measures(value: Value) -> Iterator[Value]:
    """The reductions that a value is made of by sums and differences; itself where it is of something else."""
    value = stripped(value, _THROUGH)
    if value.op not in _OF_MEASURES:
        yield value
    for one in value.operands.values() if value.op in _OF_MEASURES else ():
        if not one.is_constant:
            yield from _measures(one)


def _terms(value: Value, sign: int = 1) -> Iterator[tuple[int, Value]]:
    """The terms of a sum with their signs."""
    value = stripped(value)
    other = value.operands.get("other")
    if value.op not in ("add", "sub") or value.first is None or other is None:
        yield sign, value
        return
    yield from _terms(value.first, sign)
    yield from _terms(other, sign if value.op == "add" else -sign)


def _factors(value: Value) -> set[int]:
    """The keys of what is multiplied in a product."""
    value = stripped(value)
    inner = value.operands.values() if value.op == "mul" else ()
    return {value.key}.union(*map(_factors, inner))


def _large_sum(value: Value, context: Context) -> Truth:
    """A sum over it can leave float16; how many elements there are, and how large, is seldom known."""
    lies = next(context.ranges[name] for name, bound in context.bindings.items() if bound is value)
    return Truth.NO if lies.subset_of(Interval(-1.0, 1.0)) else Truth.MAYBE


def _is_coarse(value: Value, context: Context) -> bool:
    """A multiple of a uniform number, or of the difference between a number and what was rounded: digits are lost before."""
    value, grain = stripped(value), 1.0
    while value.op in _SCALING and value.first is not None:
        parts = list(value.operands.values())
        if value.op == "mul" and parts[0].is_constant:
            parts.reverse()
        grain *= _scaled(value.op, believed(parts[-1]).interval) if len(parts) > 1 else 1.0
        value = stripped(parts[0])
    if value.op in _UNIFORM or value.op not in ("add", "sub"):
        return value.op in _UNIFORM and grain >= _COARSE
    one, other = value.operands.values()
    number, rest = (one, other) if one.is_constant else (other, one)
    known = believed(number).interval
    rounded = any(part.op in _ROUNDED for part in behind(rest, lambda v: v.op not in _LINEAR_IN_EACH))
    return known.is_point and abs(known.lo) * grain >= _COARSE and rounded


def _scaled(op: str, factor: Interval) -> float:
    """By how much a factor or divisor that lies in a range spreads what it is applied to, at the least."""
    sizes = abs(factor.lo), abs(factor.hi)
    if op == "mul":
        return 0.0 if factor.contains(0.0) else min(sizes)
    return 1 / max(sizes) if max(sizes) else 0.0


_FORMS: dict[str, Callable[[Value, Context], bool | Truth]] = {
    "chosen": _chosen,
    "free": _free,
    "learned": lambda value, _: _is_trained(value),
    "vector": lambda value, _: _is_vector(value),
    "of_layer": lambda value, _: _is_of_layer(value),
    "matrix": lambda value, _: _is_matrix(value, _KEEPS_RANK),
    "layered_matrix": lambda value, _: _is_matrix(value, _KEEPS_RANK | _LAYERS),
    "lengthened": lambda value, _: _is_lengthened(value),
    "gradient": _gradient,
    "displacement": lambda value, context: Truth.MAYBE if is_displacement(value) else Truth.NO,
    "all_zero": _can_vanish,
    "measure": _is_measure,
    "coarse": _is_coarse,
    "large_sum": _large_sum,
}
