"""Running totals that keep the graphs of what is added to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import make_site, observed, scope_of
from stablelint.matchers.names import assigned_in, bound_to
from stablelint.matchers.training.steps import steps_of
from stablelint.matchers.training.trained import gives_back_loss
from stablelint.matchers.tree import exclusive, loop_around, mentions, parents, start
from stablelint.syntax.walk import nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_TO_NUMBER = ("item", "detach", "data", "float", "reduce_value", "gather", "reduce")


@observes("backward add", "step add", "op=", anywhere="backward")
def graph_kept(review: Review, rule: Rule) -> Iterator[Site]:
    """`total += loss` in a loop, where `loss` has its own backward and `total` has none."""
    steps = [s for s in steps_of(review) if "backward" in s.kind]
    for value, frame in observed(review, "add"):
        root = scope_of(frame)
        found = _accumulation(value.node, root)
        if found is None or value.node is None:
            continue
        total, added = found
        loss = ast.unparse(_scaled(added))
        loop = loop_around(value.node, root)
        if loop is None or _is_differentiated(total, root) or _is_number(loss, loop, value.node):
            continue
        if _is_begun_anew(total, loop):
            continue
        back = [s for s in steps if s.loss == loss and loop_around(s.node, s.root) is loop]
        known = back and not exclusive(value.node, back[0].node, root)
        known = known or gives_back_loss(bound_to(loss, value.node, loop), review.module.source.tree)
        operand = value.operands.get("other")
        if known and operand is not None:
            if _scaled(added) is not added:
                operand = operand.first or operand
            yield make_site(review, rule, (value, frame), {"loss": operand}, texts={"loss": loss})


def _accumulation(node: ast.AST | None, root: ast.AST) -> tuple[str, ast.expr] | None:
    """The total, and what is added, in `total += loss`, `total = total + loss` or `total += loss * n`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target: ast.expr = node.target
        added = node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        statement = parents(root).get(node)
        if not isinstance(statement, ast.Assign) or ast.unparse(statement.targets[0]) != ast.unparse(
            node.left
        ):
            return None
        target, added = statement.targets[0], node.right
    else:
        return None
    plain = isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
    return (ast.unparse(target), added) if plain and isinstance(_scaled(added), ast.Name) else None


def _scaled(added: ast.expr) -> ast.expr:
    """The left factor of a product or quotient: `loss` of `loss * len(x)`."""
    scaled = isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult | ast.Div)
    return added.left if scaled and isinstance(added, ast.BinOp) else added


def _is_differentiated(total: str, root: ast.AST) -> bool:
    """Whether the sum itself has a backward."""
    for node in nodes_in(root, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            texts = [ast.unparse(node.func.value), *(ast.unparse(a) for a in node.args)]
            if any(total == text or f"({total}" in text or text.startswith(f"{total} ") for text in texts):
                return True
    return False


def _is_begun_anew(total: str, loop: ast.AST) -> bool:
    """Whether a turn of the loop sets the total to something else again: what it keeps goes then."""
    return any(not mentions(n.value or n, total.rpartition(".")[2]) for n in assigned_in(total, loop))


def _is_number(name: str, loop: ast.AST, before: ast.AST) -> bool:
    """Whether the loop turns the loss into a number before it is added."""
    for node in nodes_in(loop, ast.Assign):
        rebinds = any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        if rebinds and start(node) < start(before) and mentions(node.value, *_TO_NUMBER):
            return True
    return False
