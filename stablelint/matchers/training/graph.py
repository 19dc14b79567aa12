"""Changes in place of what the backward pass still needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Kind, Value
from stablelint.matchers.common import make_site, observed

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

# Operations whose gradient is computed from their result.
_SAVES_RESULT = frozenset(("exp", "sigmoid", "tanh", "softmax", "log_softmax", "sqrt", "rsqrt"))
_DEPTH = 8


@observes("op= exp|sigmoid|tanh|softmax|log_softmax|sqrt|rsqrt")
def in_place(review: Review, rule: Rule) -> Iterator[Site]:
    """`y += …` or `y.mul_(…)` where y is the result that the backward pass of its operation reads."""
    for pair in observed(review, "add", "sub", "mul", "div", "clamp", "masked_fill", "exp", "sqrt"):
        value, _ = pair
        target = next(iter(value.operands.values()), None)
        if target is None or target.op not in _SAVES_RESULT or not _is_in_place(value):
            continue
        if (
            not review.collector.gradients.get(id(value))
            or target.kind is not Kind.TENSOR
            or not _is_trained(target, _DEPTH)
        ):
            continue
        message = f"the gradient of {target.op} is computed from its result, which this overwrites"
        yield make_site(review, rule, pair, message=message)


def _is_in_place(value: Value) -> bool:
    node = value.node
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr.endswith("_") and not node.func.attr.endswith("__")
    return False


def _is_trained(value: Value, depth: int) -> bool:
    """Whether a parameter or a layer is among what the value is made of."""
    if value.op in ("linear_module", "norm_module", "parameter", "layer_output"):
        return True
    if value.op == "detach" or depth == 0:
        return False
    return any(_is_trained(v, depth - 1) for v in value.operands.values())
