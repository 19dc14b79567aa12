"""NaN written, compared with, and hidden."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Kind, Value
from stablelint.matchers.common import make_site, observed, scope_of
from stablelint.syntax.operations import VIEWS, having
from stablelint.syntax.walk import descendants, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.analysis.values.state import Frame
    from stablelint.catalog.rule import Rule

_LOSSES = having("loss")
_REDUCTIONS = ("sum", "mean", "std", "var", "norm", "amax", "amin", "matmul", "softmax", "log_softmax")
_DEPTH = 5
_THROUGH = frozenset(("mean", "sum", "add", "mul", "div", "sub", "neg", "phi", "view"))


@observes("eq|ne nan")
def nan_comparison(review: Review, rule: Rule) -> Iterator[Site]:
    """`x == nan` and `x != nan`."""
    for value, frame in observed(review, "eq", "ne"):
        left, right = value.operands.get("input"), value.operands.get("other")
        if left is None or right is None or _is_nan(left) == _is_nan(right):
            continue
        operand = left if _is_nan(right) else right
        if operand.kind not in (Kind.TENSOR, Kind.UNKNOWN, Kind.NUMBER):
            continue
        if _is_reported_before(right if operand is left else left, frame):
            continue
        name = "x" if value.op == "eq" else "y"
        text = _compared(value, operand is left)
        bindings = {name: operand} if operand.kind is Kind.TENSOR and text else {}
        always = "false" if value.op == "eq" else "true"
        message = f"nothing equals NaN, not even NaN: this is always {always}"
        yield make_site(
            review, rule, (value, frame), bindings, message=message, texts={name: text} if text else {}
        )


def _is_reported_before(nan: Value, frame: Frame) -> bool:
    """Whether it is NaN by default only, and the function asks whether it is."""
    if not (nan.assumed and nan.name):
        return False
    calls = (n for n in descendants(scope_of(frame)) if isinstance(n, ast.Call))
    return any(
        ast.unparse(call.func).endswith("isnan") and nan.name in map(ast.unparse, call.args) for call in calls
    )


def _compared(value: Value, left: bool) -> str | None:
    """The text of one side of a comparison of two."""
    node = value.node
    if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
        return None
    return ast.unparse(node.left if left else node.comparators[0])


@observes("where|masked_fill nan")
def nan_literal(review: Review, rule: Rule) -> Iterator[Site]:
    """NaN as the value of `where` or `masked_fill`, whose result is reduced without care for it."""
    for value, frame in observed(review, "where", "masked_fill"):
        fills = (v for n, v in value.operands.items() if n not in ("condition", "mask"))
        if not review.collector.gradients.get(id(value)) or not any(_is_nan(v) for v in fills):
            continue
        if any(
            _reaches(r, value.key, _DEPTH) for r, _ in observed(review, *_REDUCTIONS) if not _minds_nan(r)
        ):
            yield make_site(review, rule, (value, frame), shown=False)


def _reaches(value: Value, key: int, depth: int) -> bool:
    """Whether the elements with that key go into a value, unselected."""
    if value.key == key:
        return True
    through = value.op in _REDUCTIONS or value.op in _THROUGH or value.op in VIEWS
    return depth > 0 and through and any(_reaches(v, key, depth - 1) for v in value.operands.values())


def _minds_nan(value: Value) -> bool:
    """`nansum` and its like."""
    node = value.node
    return isinstance(node, ast.Call) and "nan" in ast.unparse(node.func).rpartition(".")[2]


@observes("nan_to_num", "backward isnan|isinf|isfinite")
def hidden_nan(review: Review, rule: Rule) -> Iterator[Site]:
    """`nan_to_num` on a loss or on a gradient; a step skipped because the loss is not finite."""
    for value, frame in observed(review, "nan_to_num"):
        operand = value.operands.get("input")
        if operand is None:
            continue
        if operand.op == "attribute" and operand.name == "grad":
            message = "nan_to_num on a gradient lets the optimizer step on what is no gradient"
            yield make_site(review, rule, (value, frame), message=message)
        elif review.collector.gradients.get(id(value)) and _is_loss(operand, 4):
            message = "this makes the loss finite, not its gradient, which still runs through the cause"
            yield make_site(review, rule, (value, frame), message=message)
    yield from _skipped_steps(review, rule)


def _skipped_steps(review: Review, rule: Rule) -> Iterator[Site]:
    """`if not isfinite(loss): continue` in a loop that trains."""
    backward = observed(review, "backward")
    if not backward:
        return
    for pair in observed(review, "isnan", "isinf", "isfinite"):
        value, frame = pair
        operand = value.operands.get("input")
        if operand is None or "loss" not in _text(operand):
            continue
        test = _skip_around(value, frame)
        if test is not None:
            message = "skipping the step hides the NaN, and loses the batch each time it comes"
            yield make_site(review, rule, pair, shown=False, message=message)


def _skip_around(value: Value, frame: Frame) -> ast.If | None:
    for node in nodes_in(scope_of(frame), ast.If):
        assert isinstance(node, ast.If)
        if any(n is value.node for n in descendants(node.test)) and isinstance(node.body[-1], ast.Continue):
            return node
    return None


def _text(value: Value) -> str:
    return value.name or (ast.unparse(value.node) if isinstance(value.node, ast.expr) else "")


def _is_nan(value: Value) -> bool:
    number = value.constant()
    return isinstance(number, float) and math.isnan(number)


def _is_loss(value: Value, depth: int) -> bool:
    """Whether a loss function is what the value is made of."""
    if value.op in _LOSSES:
        return True
    return depth > 0 and value.op in _THROUGH and any(_is_loss(v, depth - 1) for v in value.operands.values())
