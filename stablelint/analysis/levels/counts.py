"""Principles about counts: which of them are 0 for data that do not arise, or hurt nobody where they are."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.analysis.evidence.vocabulary import is_mask_name
from stablelint.analysis.matching.masks import is_chance_test, unnegated
from stablelint.analysis.matching.meaning import (
    counts_along_edge,
    counts_everything,
    counts_in_parts,
    counts_its_extreme,
    counts_its_support,
    counts_itself,
    counts_off_diagonal,
    counts_others_too,
    counts_the_finite,
    counts_with_fallback,
    is_called_count,
)
from stablelint.analysis.matching.provenance import vanishes_with_data
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.syntax.walk import descendants

_ON_NUMBERS = frozenset("self max min len int float abs round math np sum".split())


def _is_causal(site: Site, operand: Value) -> bool:
    """A causal mask keeps the diagonal, and so a position in each row."""
    total = stripped(operand)
    totals = [v for v in total.operands.values() if v.zero is Ground.EXACT] if total.op == "phi" else [total]
    return bool(totals) and all(
        v.op == "sum" and v.first is not None and "causal" in stripped(v.first).name for v in totals
    )


def _is_share_of_extreme(site: Site, operand: Value) -> bool:
    """What is compared with its own maximum, or a share of it, reaches it."""
    return counts_its_extreme(operand)


def is_masked_by_lengths(site: Site, operand: Value) -> bool:
    """A mask that every call in sight makes of lengths leaves something in each row."""
    mask, total = site.match.bindings.get("mask"), stripped(operand)
    if mask is None and total.op == "sum":
        mask = total.first
    mask = unnegated(mask) if mask is not None else None
    if mask is None or mask.op != "argument" or not is_mask_name(mask.name) or site.frame.function is None:
        return False
    calls = site.frame.session.calls.get(id(site.frame.function.node), [])
    passed = [call.get(mask.name) for call in calls]
    return bool(passed) and all(v is not None and (is_chance_test(v) or v.interval.lo > 0) for v in passed)


def is_mean_of_the_nonzero(site: Site, operand: Value) -> bool:
    """A mean over what is not 0 of the very values is one over nothing only where all of them are, as raw data may be."""
    mask = site.match.bindings.get("mask") or site.match.bindings.get("m")
    values = site.match.bindings.get("x")
    test = stripped(mask) if mask is not None else None
    if test is None or values is None or test.op != "ne" or test.operands["other"].constant() != 0:
        return False
    tested = stripped(test.operands["input"])
    same = stripped(values).key == tested.key or _of_the_same(stripped(values), tested)
    return same and not vanishes_with_data(tested)


def _of_the_same(values: Value, tested: Value) -> bool:
    """Whether the path alone tells two values apart: what a test selects is known to have passed it."""
    return values.op == tested.op and values.node is tested.node and values.guard == "branch"


def _is_nobodys_share(site: Site, operand: Value) -> bool:
    """What a count divides is a sum over nothing where it is 0: its gradient reaches nobody, but through a mask."""
    if (
        not site.judgement.backward_only
        or site.value.op != "div"
        or not (is_called_count(operand) or is_called_count(stripped(operand)))
    ):
        return False
    summed = behind(site.value.operands["input"], lambda _: False)
    masks = (f for v in summed if v.op == "mul" for f in v.operands.values())
    return not any(mask.zero is Ground.EXACT for mask in masks)


def _is_census(site: Site, operand: Value) -> bool:
    """A histogram sums up to the number of what was counted, a row without its diagonal to that of the others.

    What is not NaN is nothing only where all is NaN; where nothing is chosen, what is not chosen counts; the largest
    element is in the support of a projection on the simplex; and each element equals itself.
    """
    told = (
        counts_everything,
        counts_off_diagonal,
        counts_the_finite,
        counts_others_too,
        counts_in_parts,
        counts_its_support,
        counts_itself,
        counts_with_fallback,
    )
    return any(meaning(operand) for meaning in told)


def _is_extent(site: Site, operand: Value) -> bool:
    """What counts along an edge of a mask measures an extent, and a thing has one."""
    return counts_along_edge(operand)


def _is_setting(site: Site, operand: Value) -> bool:
    """What divides a number and is kept by an object is a setting, of which Python says by itself that it is 0."""
    node = site.value.node
    if site.value.kind is not Kind.NUMBER or not isinstance(node, ast.BinOp):
        return False
    names = {n.id for n in descendants(node.right) if isinstance(n, ast.Name)}
    return "self" in names and names <= _ON_NUMBERS


DOUBTS_BY_COUNT: tuple[Callable[[Site, Value], bool], ...] = (
    _is_causal,
    _is_share_of_extreme,
    is_masked_by_lengths,
    _is_nobodys_share,
    _is_census,
    _is_extent,
    _is_setting,
)
