"""NaN written, compared with, and hidden."""

from __future__ import annotations

import ast
import math

from stablelint.analysis.values.value import NUMERIC
from stablelint.analysis.values.views import behind
from stablelint.matchers.common import (
    Frame,
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    make_site,
    observed,
    observes,
    scope_of,
)
from stablelint.matchers.tree import ancestors, called, calls_below
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import VIEWS, having

_LOSSES = having("loss")
_REDUCTIONS = ("sum", "mean", "std", "var", "norm", "amax", "amin", "matmul", "softmax", "log_softmax")
_THROUGH = frozenset(("mean", "sum", "add", "mul", "div", "sub", "neg", "phi", "view"))
_UNSELECTED = VIEWS | _THROUGH | set(_REDUCTIONS)


_SKIPPED = "skipping the step hides the NaN, and loses the batch each time it comes"


@observes("eq|ne nan")
def nan_comparison(review: Review, rule: Rule) -> Sites:
    """`x == nan` and `x != nan`."""
    for value, frame in observed(review, "eq", "ne"):
        left, right = value.operands.get("input"), value.operands.get("other")
        if left is None or right is None or _is_nan(left) == _is_nan(right):
            continue
        operand = left if _is_nan(right) else right
        if operand.kind not in NUMERIC:
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
    calls = calls_below(scope_of(frame))
    return any(called(c).endswith("isnan") and nan.name in map(spelled, c.args) for c in calls)


def _compared(value: Value, left: bool) -> str | None:
    """The text of one side of a comparison of two."""
    node = value.node
    if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
        return None
    return spelled(node.left if left else node.comparators[0])


@observes("where|masked_fill nan")
def nan_literal(review: Review, rule: Rule) -> Sites:
    """NaN as the value of `where` or `masked_fill`, whose result is reduced without care for it."""
    for value, frame in observed(review, "where", "masked_fill"):
        fills = (v for n, v in value.operands.items() if n not in ("condition", "mask"))
        if not review.gradients.get(id(value)) or not any(_is_nan(v) for v in fills):
            continue
        reductions = (r for r, _ in observed(review, *_REDUCTIONS) if "nan" not in called(r.node))  # `nansum`
        if any(_reaches(r, value.key) for r in reductions):
            yield make_site(review, rule, (value, frame), shown=False)


def _reaches(value: Value, key: int) -> bool:
    """Whether the elements with that key go into a value, unselected."""
    return any(v.key == key for v in behind(value, lambda v: v.op not in _UNSELECTED))


@observes("nan_to_num", "backward isnan|isinf|isfinite")
def hidden_nan(review: Review, rule: Rule) -> Sites:
    """`nan_to_num` on a loss or on a gradient; a step skipped because the loss is not finite."""
    for value, frame in observed(review, "nan_to_num"):
        operand = value.operands.get("input")
        if operand is None:
            continue
        if operand.op == "attribute" and operand.name == "grad":
            message = "nan_to_num on a gradient lets the optimizer step on what is no gradient"
            yield make_site(review, rule, (value, frame), message=message)
        elif review.gradients.get(id(value)) and _is_loss(operand):
            message = "this makes the loss finite, not its gradient, which still runs through the cause"
            yield make_site(review, rule, (value, frame), message=message)
    yield from _skipped_steps(review, rule)


def _skipped_steps(review: Review, rule: Rule) -> Sites:
    """`if not isfinite(loss): continue` in a loop that trains."""
    if not observed(review, "backward"):
        return
    for pair in observed(review, "isnan", "isinf", "isfinite"):
        value, frame = pair
        path = [value.node, *ancestors(value.node, scope_of(frame))]
        skips = [n for n in path if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Continue)]
        if value.first is not None and "loss" in _text(value.first) and any(n.test in path for n in skips):
            yield make_site(review, rule, pair, shown=False, message=_SKIPPED)


def _text(value: Value) -> str:
    return value.name or (spelled(value.node) if isinstance(value.node, ast.expr) else "")


def _is_nan(value: Value) -> bool:
    number = value.default()
    return isinstance(number, float) and math.isnan(number)


def _is_loss(value: Value) -> bool:
    """Whether a loss function is what the value is made of."""
    return any(v.op in _LOSSES for v in behind(value, lambda v: v.op not in _THROUGH))
