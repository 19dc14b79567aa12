"""Guards that come after the operation: `where`, `masked_fill` and `nan_to_num` over its result."""

from __future__ import annotations

from collections.abc import Sequence

from stablelint.analysis.judge import NOT_DIFFERENTIABLE, differentiable
from stablelint.analysis.sites import Site
from stablelint.analysis.transfer import stripped
from stablelint.analysis.value import Kind, Value
from stablelint.syntax.operations import SELECTIONS

HIDERS = frozenset({"where", "masked_fill", "nan_to_num"})
_DEPTH = 8


def hider_of(site: Site, observed: Sequence[Value]) -> Value | None:
    """The later operation that replaces this site's result where its operand is bad.

    `where` and `masked_fill` count only when their test speaks of the operand.
    """
    return next((value for value in observed if _hides(value, site)), None)


def is_doubled(site: Site, hider: Value) -> bool:
    """Whether the operand is masked by the same test as the result: the double `where` that keeps gradients finite."""
    operand = site.match.bindings.get(site.judgement.operand)
    test = hider.operands.get("condition") or hider.operands.get("mask")
    if operand is None or test is None:
        return False
    inner = stripped(operand)
    own = inner.operands.get("condition") or inner.operands.get("mask")
    return inner.op in ("where", "masked_fill") and own is not None and _same_test(own, test)


def _same_test(one: Value, other: Value) -> bool:
    if stripped(one).key == stripped(other).key:
        return True
    for negated, plain in ((stripped(one), stripped(other)), (stripped(other), stripped(one))):
        if negated.op == "logical_not" and negated.first is not None and stripped(negated.first).key == plain.key:
            return True
    return False


def feels_gradient(site: Site, hider: Value) -> bool:
    """Whether a gradient flows back through the hider to the site's operand."""
    operand = site.match.bindings.get(site.judgement.operand)
    if operand is None or site.value.kind is Kind.NUMBER or not differentiable(operand, site.gradient):
        return False
    return any(_flows(branch, site.value, _DEPTH) for branch in _branches(hider))


def takes_where_true(site: Site, hider: Value) -> bool:
    """Whether the site's result is what `where` yields where its condition holds."""
    return hider.op == "where" and _contains(hider.operands["input"], site.value, _DEPTH)


def _branches(hider: Value) -> list[Value]:
    return [v for n, v in hider.operands.items() if n not in ("condition", "mask")]


def _hides(hider: Value, site: Site) -> bool:
    if not any(_contains(branch, site.value, _DEPTH) for branch in _branches(hider)):
        return False
    if hider.op == "nan_to_num":
        return True
    test = hider.operands.get("condition") or hider.operands.get("mask")
    operand = site.match.bindings.get(site.judgement.operand)
    if test is None or operand is None:
        return False
    operand = stripped(operand)
    sources = {operand.key}
    if operand.op not in SELECTIONS and operand.op not in ("part", "index", "attribute", "item"):
        sources |= {stripped(v).key for v in operand.operands.values() if not v.is_constant}
    return _mentions(test, sources, site.value.key, _DEPTH)


def _contains(value: Value, wanted: Value, depth: int) -> bool:
    if value.key == wanted.key:
        return True
    return depth > 0 and any(_contains(v, wanted, depth - 1) for v in value.operands.values())


def _flows(value: Value, wanted: Value, depth: int) -> bool:
    if value.key == wanted.key:
        return True
    if depth == 0 or value.op == "detach" or value.dtype in NOT_DIFFERENTIABLE:
        return False
    return any(_flows(v, wanted, depth - 1) for v in value.operands.values())


def _mentions(value: Value, keys: set[int], result: int, depth: int) -> bool:
    """Whether a test speaks of the operand itself, not of the operation's result."""
    if value.key == result:
        return False
    if value.key in keys or stripped(value).key in keys:
        return True
    return depth > 0 and any(_mentions(v, keys, result, depth - 1) for v in value.operands.values())
