"""Principles about what is counted or weighed in a whole: its parts, the pieces of a kernel, a support."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from stablelint.analysis.evidence.vocabulary import is_mask_name
from stablelint.analysis.matching.masks import is_mask_of_padding, is_name_of_text, unnegated
from stablelint.analysis.matching.padding import is_mask_of_ids, is_unpadded
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import CONDITIONS, EXPONENTIALS
from stablelint.analysis.values.value import Ground, Value
from stablelint.analysis.values.views import behind, stripped

_OF_PARTS = re.compile(r"(^|_)(atoms?|residues?|nodes?|coords?|frames?|bonds?|pad(ding)?)_", re.I)
_SETTING = re.compile(r"^(scale|scaling|gamma|step_?size|stepsize|damping|bandwidth|resolution|spacing)$")
_MEASURED = frozenset("std var norm vector_norm amax amin max min median quantile sum mean cdist".split())
_DIFFERENTIATES = re.compile(r"(^|_)(backward|jvp|vjp|grad)$")
_POINTS = re.compile(r"(^|_)(pos|positions?|poses?|points?|coords?|vertices|verts|xyz)$")
_GIVEN = frozenset("argument attribute item unknown".split())
_FACTORS = 3  # of a count, looked through


def _is_row_of_parts(site: Site, operand: Value) -> bool:
    """A mask that a caller passes leaves something in each row: a thing has parts, though a text may be empty."""
    total = stripped(operand)
    for _ in range(_FACTORS):
        if total.op not in ("mul", "sqrt"):
            break
        total = stripped(next((v for v in total.operands.values() if v.zero is Ground.EXACT), total))
    if total.op not in ("sum", "count_nonzero") or total.first is None:
        return False
    factors = list(_factors_on_paths(total.first))
    masks = [factor for factor in factors if _is_of_parts(factor)]
    return bool(masks) and all(factor in masks or _is_weight(stripped(factor)) for factor in factors)


def _factors(value: Value, depth: int = _FACTORS) -> Iterator[Value]:
    """What a value is the product of."""
    inner = stripped(value)
    if inner.op == "mul" and depth:
        for factor in inner.operands.values():
            yield from _factors(factor, depth - 1)
    else:
        yield value


def _factors_on_paths(value: Value, depth: int = 2 * _FACTORS) -> Iterator[Value]:
    """What a value is the product of, on each of its paths; what is one of several masks is none of them."""
    inner = stripped(value)
    if (
        inner.op == "phi"
        and depth
        and any(stripped(path).op in ("mul", "phi") for path in inner.operands.values())
    ):
        for path in inner.operands.values():
            yield from _factors_on_paths(path, depth - 1)
    elif inner.op == "mul" and depth:
        for factor in inner.operands.values():
            yield from _factors_on_paths(factor, depth - 1)
    else:
        yield value


def _is_weight(factor: Value) -> bool:
    """Whether a factor weighs parts, and makes none of them 0: no test, no rectifier, no exponential that underflows."""
    if factor.op == "relu":
        return factor.zero is not Ground.EXACT
    return factor.interval.lo >= 0 and factor.op not in CONDITIONS | EXPONENTIALS


def _is_of_parts(mask: Value) -> bool:
    """Whether a caller passes a mask of the parts of a thing, or one is made of ids."""
    inner = stripped(mask)
    if is_mask_of_ids(inner) or is_unpadded(inner) or is_mask_of_padding(mask):
        return True
    if inner.op == "logical_not" and inner.first is not None:
        inner = stripped(inner.first)
    while inner.op == "index" and inner.first is not None:
        inner = stripped(inner.first)
    if _is_tokenized(inner):
        return True
    if inner.op not in ("argument", "item") or not is_mask_name(inner.name):
        return False
    return _OF_PARTS.search(inner.name) is not None or not is_name_of_text(inner.name)


def _is_tokenized(mask: Value) -> bool:
    """Whether a mask comes out of what a tokenizer returns, which always puts its special tokens into a text."""
    if mask.op == "phi":
        return all(
            _is_tokenized(stripped(path)) for path in mask.operands.values() if stripped(path).op != "phi"
        )
    return mask.op == "item" and mask.name == "attention_mask"


def _is_extent_of_points(site: Site, operand: Value) -> bool:
    """A cloud of points, a mesh, or a set of cameras, that is divided by its own largest coordinate has an extent."""
    if site.value.op != "div" or stripped(site.value.operands["input"]).is_constant:
        return False
    largest = list(_paths(operand))
    return bool(largest) and all(map(_is_largest_coordinate, largest))


def _paths(value: Value, depth: int = _FACTORS) -> Iterator[Value]:
    inner = stripped(value)
    if inner.op == "phi" and depth:
        for path in inner.operands.values():
            yield from _paths(path, depth - 1)
    else:
        yield inner


def _is_largest_coordinate(value: Value) -> bool:
    """Whether a value is the largest distance from the origin, or along an axis, of what is called points."""
    if value.op not in ("amax", "max") or value.first is None:
        return False
    return any(_POINTS.search(v.name) for v in behind(value.first, lambda _: False) if v.op in _GIVEN)


def _is_kernel(site: Site, operand: Value) -> bool:
    """A kernel that is put together of pieces, each between bounds of its own, is not 0 throughout."""
    total = stripped(operand)
    if site.value.op != "div" or total.op != "sum" or total.first is None:
        return False
    kernel = stripped(total.first)
    if kernel.key != stripped(site.value.operands["input"]).key:
        return False
    paths = kernel.operands.values() if kernel.op == "phi" else [kernel]
    return any(_is_pieced(stripped(path)) for path in paths)


def _is_pieced(value: Value) -> bool:
    """Whether a value is a sum of products, each of which has a test as a factor."""
    pieces = list(value.operands.values()) if value.op == "add" else []
    return len(pieces) > 1 and all(_has_a_test(piece) for piece in pieces)


def _has_a_test(piece: Value) -> bool:
    factors = list(_factors(piece))
    return len(factors) > 1 and any(unnegated(factor).op in CONDITIONS for factor in factors)


def _is_support(site: Site, operand: Value) -> bool:
    """What has a derivative where it is not 0 is not 0 somewhere: the support of a projection, in its `backward`."""
    total, function = stripped(operand), site.frame.function
    if function is None or total.op != "sum" or total.first is None:
        return False
    test = stripped(total.first)
    other = test.operands.get("other")
    is_nonzero = test.op in ("gt", "ne") and other is not None and other.constant() == 0
    return is_nonzero and _DIFFERENTIATES.search(function.name) is not None


def _is_named_setting(site: Site, operand: Value) -> bool:
    """What is called a scale or a step size, and was not measured, was chosen by one who knows that it is not 0."""
    names = (site.texts.get(site.judgement.operand) or "", operand.name, stripped(operand).name)
    if site.value.op != "div" or not any(_SETTING.search(name) for name in names):
        return False
    return not any(v.op in _MEASURED for v in behind(operand, lambda v: v.op in _MEASURED))


DOUBTS_BY_PART: tuple[Callable[[Site, Value], bool], ...] = (
    _is_row_of_parts,
    _is_extent_of_points,
    _is_kernel,
    _is_support,
    _is_named_setting,
)
