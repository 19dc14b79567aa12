"""What programs of before PyTorch 0.4 did with tensors: `Variable(x)` and `x.data`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import functions_of
from stablelint.syntax.walk import nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule


@observes()
def variable(review: Review, rule: Rule) -> Iterator[Site]:
    """`Variable(x)`, with whatever keywords."""
    for root in functions_of(review, "Variable("):
        for call in nodes_in(root, ast.Call):
            if call.args and qualified(call.func, review.module).endswith("autograd.Variable"):
                yield site_at(review, rule, call, {"x": call.args[0]})


@observes()
def data_attribute(review: Review, rule: Rule) -> Iterator[Site]:
    """`x.data`, read or written through, of what is neither a module nor `self`."""
    for root in functions_of(review, ".data"):
        for node in nodes_in(root, ast.Attribute):
            if node.attr == "data" and _is_tensor(node.value, review):
                yield site_at(review, rule, node, shown=False)


def _is_tensor(node: ast.expr, review: Review) -> bool:
    """Whether an expression can be a tensor: no name that was imported, nor the object of a method."""
    return not (
        isinstance(node, ast.Name) and (node.id == "self" or node.id in review.module.imports)
    ) and not qualified(node, review.module).startswith("torch.")
