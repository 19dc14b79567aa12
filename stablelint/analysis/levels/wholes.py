"""Denominators that are 0 only as a whole, where nothing but a coincidence of all their parts makes them so.

What does vanish is what counts what a test finds: no positive label, no value beyond a threshold. A sum of values,
a length, a list of things, what a caller picks or an object has gathered is 0 only for a batch of nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stablelint.analysis.evidence.vocabulary import is_mask_name, names_ties
from stablelint.analysis.matching.masks import unnegated
from stablelint.analysis.matching.padding import is_background
from stablelint.analysis.matching.places import is_objective
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import CONDITIONS, NORMS
from stablelint.analysis.values.pairs import is_of_all_pairs
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.vanishing import is_masked_difference
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

_TOTALS = frozenset({"sum", "mean", "nansum", "nanmean"})
_LENGTHS = NORMS | {"cdist"}
_SCALES = frozenset("mul div pow square add clamp sqrt item index gather".split())
_SIZES = frozenset({"size", "numel", "len"})
_ADDED_UP = frozenset("sum mean python.sum".split())
_EXTREMES = frozenset("amax amin max min".split())
_LOSSES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div".split()
)
_COUNTED = frozenset("lengths_mask one_hot eye relu relu6".split())  # of which ordinary data makes a row 0
_POSITIVE = frozenset("exp softmax sigmoid softplus".split())
_JOINED = frozenset("phi add cat".split())
_MADE_OF_TESTS = frozenset("sub sum pow square abs index where scatter_add".split())
_DEPTH = 6


def is_count(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the elements of a value are 0 where a test fails, a tie is missing or a unit is dead, and only there."""
    if _is_test(value) or _is_test(stripped(value)):
        return True
    inner = unnegated(value)
    if _is_test(inner) or is_masked_difference(inner) or is_of_all_pairs(inner):
        return True
    parts = [part for part in inner.operands.values() if not part.is_constant]
    if not depth or not parts:
        return False
    if inner.op == "mul":
        tests = [is_count(part, depth - 1) for part in parts]
        weights = [stripped(part) for part, is_test in zip(parts, tests, strict=True) if not is_test]
        return any(tests) and all(map(_is_positive, weights))
    if inner.op in _JOINED:
        return all(is_count(part, depth - 1) for part in parts)
    return inner.op in _MADE_OF_TESTS and any(is_count(part, depth - 1) for part in parts)


def _is_positive(value: Value) -> bool:
    """Whether a value is above 0, but for underflow."""
    known = value.interval.lo >= 0 and value.zero is Ground.NONE
    return known or value.op in _POSITIVE or not value.interval.contains(0.0)


def _is_test(value: Value) -> bool:
    return (
        value.dtype == "bool"
        or value.op in CONDITIONS
        or value.op in _COUNTED
        or is_mask_name(value.name)
        or names_ties(value.name)
    )


def _is_total_of_values(site: Site, operand: Value) -> bool:
    """A sum or a mean of values, which counts no test, is 0 only where all are: weights, shares, squares, losses."""
    total = _unscaled(operand)
    if not _divides(site) or total.op not in _TOTALS or total.first is None or total.kind is Kind.NUMBER:
        return False
    return total.zero is Ground.EXACT and not is_count(total.first)


def _is_length_of_another(site: Site, operand: Value) -> bool:
    """A length divides a vector to make it a direction; outside of a loss all else is a ratio to a thing of a size."""
    function = site.frame.function
    if not _divides(site) or (function is not None and is_objective(function)):
        return False
    lengths = [length for length in _lengths(operand) if not is_of_all_pairs(length)]
    divided = site.value.operands["input"]
    own = {vector.key for norm in lengths if norm.first is not None for vector in _chosen(norm.first)}
    return bool(lengths) and not any(v.key in own for v in behind(divided, lambda v: v.op in _LENGTHS))


def _chosen(value: Value) -> Iterator[Value]:
    """The value, or those of which it is one."""
    inner = stripped(value)
    yield inner
    if inner.op in ("where", "phi"):
        yield from map(stripped, inner.operands.values())


def _lengths(operand: Value, depth: int = _DEPTH) -> Iterator[Value]:
    value = _unscaled(operand)
    if value.op in _LENGTHS:
        yield value
    elif value.op == "phi" and depth:
        paths = [list(_lengths(path, depth - 1)) for path in value.operands.values()]
        if all(paths):
            yield from (length for path in paths for length in path)
    elif value.op in ("mul", "add"):
        parts = [_unscaled(part) for part in value.operands.values()]
        if all(part.op in _LENGTHS for part in parts):
            yield from parts


def _is_larger_side(site: Site, operand: Value) -> bool:
    """Of what is left on two sides of a place, `s - x` and `s + x`, the larger is 0 only for a thing without a size."""
    larger = stripped(operand)
    if not _divides(site) or larger.op != "maximum":
        return False
    sides = [_unbounded(side) for side in larger.operands.values()]
    if {side.op for side in sides} != {"add", "sub"}:
        return False
    one, other = ({stripped(v).key for v in side.operands.values()} for side in sides)
    return one == other


def _unbounded(value: Value) -> Value:
    inner = stripped(value)
    return stripped(inner.operands["input"]) if inner.op == "clamp" else inner


def _is_number_of_things(site: Site, operand: Value) -> bool:
    """How many things there are divides something else than their sum: a share for each, and there is a thing."""
    if site.value.op != "div" or operand.kind is not Kind.NUMBER:
        return False
    size = _unscaled(operand)
    if size.op == "phi":
        size = next(
            (_unscaled(path) for path in size.operands.values() if _unscaled(path).op in _SIZES), size
        )
    if size.op == "math.sqrt" and size.first is not None:
        size = _unscaled(size.first)
    if size.op not in _SIZES or size.first is None:
        return False
    things, total = size.first, stripped(site.value.operands["input"])
    if total.op not in _ADDED_UP:
        return True
    return not _speaks_of(total, things)


def _speaks_of(total: Value, things: Value) -> bool:
    """Whether what is added up is made of the things that are counted, or runs through them."""
    if any(stripped(part).key == stripped(things).key for part in behind(total, lambda _: False)):
        return True
    counted = {n.id for n in descendants(things.node) if isinstance(n, ast.Name)} if things.node else set()
    named = {n.id for n in descendants(total.node) if isinstance(n, ast.Name)} if total.node else set()
    return not counted.isdisjoint(named) or things.name in named


def _is_gathered(site: Site, operand: Value) -> bool:
    """What an object has gathered over its calls is asked for when there is something."""
    inner = stripped(operand)
    return inner.op == "attribute" and inner.first is not None and inner.first.kind is Kind.INSTANCE


def _is_span_of_losses(site: Site, operand: Value) -> bool:
    """The losses of many things are not all alike."""
    ends = [stripped(v) for v in operand.operands.values()] if stripped(operand).op == "sub" else []
    if len(ends) != 2 or any(end.op not in _EXTREMES or end.first is None for end in ends):
        return False
    spanned = [
        v for end in ends if end.first is not None for v in behind(end.first, lambda v: v.op in _LOSSES)
    ]
    return any(v.op in _LOSSES or v.name.endswith("loss") for v in spanned)


def _is_of_background(site: Site, operand: Value) -> bool:
    """The elements of class 0 are the background, of which there is always some."""
    total = _unscaled(operand)
    return total.op in _TOTALS and total.first is not None and is_background(total.first)


def _divides(site: Site) -> bool:
    return site.value.op == "div" and not site.judgement.backward_only


def _unscaled(value: Value) -> Value:
    """What a value owes its zeros to, behind factors, powers and what is added in vain."""
    value = stripped(value)
    for _ in range(_DEPTH):
        if value.op not in _SCALES:
            break
        parts = [
            part for part in value.operands.values() if part.zero is Ground.EXACT and not part.is_constant
        ]
        if len(parts) != 1:
            break
        value = stripped(parts[0])
    return value


DOUBTS_BY_WHOLE: tuple[Callable[[Site, Value], bool], ...] = (
    _is_total_of_values,
    _is_length_of_another,
    _is_larger_side,
    _is_number_of_things,
    _is_gathered,
    _is_span_of_losses,
    _is_of_background,
)
