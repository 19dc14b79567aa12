"""Masks that tell the tokens which a network is given from padding: a batch is not padding throughout."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.selections import selecting_mask
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped

_LAYERS = frozenset("linear_module layer_output embedding".split())
_PASSING = frozenset("index where masked_fill narrow clamp einops.repeat einops.rearrange".split())
_TOTALS = frozenset("sum count_nonzero".split())
_DEPTH = 6


def fed_values(observed: Iterable[Value]) -> frozenset[int]:
    """Keys of what the layers and networks of a function are given first."""
    found: set[int] = set()
    for value in observed:
        if value.first is not None and (value.op in _LAYERS or _is_network(value)):
            found.update(_sources(value.first, _DEPTH))
    return frozenset(found)


def counts_input(site: Site, fed: frozenset[int]) -> bool:
    """Whether all that a division or a mean needs is a token that is no padding, in what a network is given.

    What is masked row by row needs one in each row, and a row may well be padding throughout.
    """
    if any("masked_rows" in condition for condition in site.rule.where):
        return False
    masks = list(_masks(site))
    if not masks:
        return False
    fed = fed | fed_values(behind(site.value, lambda _: False))
    return bool(fed) and any(_tests(mask, fed) for mask in masks)


def _is_network(value: Value) -> bool:
    """Whether a value is the result of a call of an attribute, `self.net(x)`, of which nothing is known."""
    call = value.node
    if not value.op.startswith("call.") or not isinstance(call, ast.Call):
        return False
    called = call.func
    return (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "self"
    )


def _sources(value: Value, depth: int) -> Iterator[int]:
    """Keys of the tensors whose elements a value holds."""
    inner = stripped(value)
    yield inner.key
    if depth and inner.op in _PASSING:
        for name in ("input", "other", "argument0"):
            if name in inner.operands:
                yield from _sources(inner.operands[name], depth - 1)


def _masks(site: Site) -> Iterator[Value]:
    """The masks whose true elements a site's denominator counts, or that pick what is averaged."""
    operand = site.match.bindings.get(site.judgement.operand)
    for value in [operand] if operand is not None else site.match.bindings.values():
        total = stripped(value)
        if total.op in _TOTALS and total.first is not None and "dim" not in total.operands:
            yield total.first
        elif operand is None and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
            mask = selecting_mask(value)
            if mask is not None:
                yield mask


def _tests(mask: Value, fed: frozenset[int]) -> bool:
    test = stripped(mask)
    while test.op == "logical_not" and test.first is not None:
        test = stripped(test.first)
    if test.op not in ("ne", "eq") or test.first is None:
        return False
    return not fed.isdisjoint(_sources(test.first, _DEPTH))
