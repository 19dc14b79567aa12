"""Graphs that a list keeps: of losses in a training loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Kind
from stablelint.matchers.common import site_at
from stablelint.matchers.names import (
    bound_to,
    called,
    carriers,
    functions_of,
    receiver,
)
from stablelint.matchers.training.gathered import Kept, is_emptied, kept_in, known_collection
from stablelint.matchers.training.trained import backs_in, gives_back_loss
from stablelint.matchers.tree import ancestors, exclusive, loop_around, mentions
from stablelint.syntax.walk import descendants, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule


@observes()
def graph_kept_in_list(review: Review, rule: Rule) -> Iterator[Site]:
    """`losses.append(loss)` in the loop that runs `loss.backward()`, for a list that outlives the turn."""
    tree = review.module.source.tree
    for root in functions_of(review, "backward"):
        backs = backs_in(root)
        for kept in kept_in(root):
            known = known_collection(kept, root, review)
            if known is None or is_emptied(kept) or _is_differentiated(kept, backs, root):
                continue
            for part in kept.parts:
                made = bound_to(ast.unparse(part), kept.at, kept.loop)
                if any(_holds(part, back, kept, root) for back in backs) or gives_back_loss(made, tree):
                    yield site_at(review, rule, part, {"kept": part}, shown=known, kind=Kind.TENSOR)


def _is_differentiated(kept: Kept, backs: Sequence[ast.AST], root: ast.AST) -> bool:
    """Whether a loss is made of the collection: it needs the graphs."""
    name = kept.base.rpartition(".")[2]
    if any(mentions(back, name) for back in backs):
        return True
    backed = {ast.unparse(c) for back in backs for c in _backed(back, root)}
    for node in nodes_in(root, ast.Assign, ast.AugAssign):
        if (
            isinstance(node, ast.Assign | ast.AugAssign)
            and node is not kept.at
            and mentions(node.value, name)
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if backed & set(map(ast.unparse, targets)):
                return True
    return any(
        mentions(node, "retain_graph", "create_graph") or any(k.arg == "retain_graph" for k in node.keywords)
        for node in backs
        if isinstance(node, ast.Call)
    )


def _backed(back: ast.AST, root: ast.AST) -> Iterator[ast.expr]:
    """The names whose graph a backward runs through: the loss, and what it was added up from in this function."""
    assert isinstance(back, ast.Call)
    of = receiver(back)
    given = back.args[0] if back.args else of
    while called(given or back) in ("scale", "scale_loss") and isinstance(given, ast.Call) and given.args:
        given = given.args[0]
    for name in carriers(given) if given is not None else ():
        yield name
        made = bound_to(ast.unparse(name), back, root)
        if made is not None and isinstance(made, ast.BinOp):
            yield from (c for c in carriers(made) if _is_made_in_loop(c, back, root))


def _is_made_in_loop(name: ast.expr, back: ast.AST, root: ast.AST) -> bool:
    """Whether the loop around a backward computes a name by a call: a weight or a count is not."""
    loop = loop_around(back, root)
    made = bound_to(ast.unparse(name), back, root) if loop is not None else None
    called_for = made is not None and any(isinstance(n, ast.Call) for n in descendants(made))
    return called_for and made in set(descendants(loop or back)) and "loss" in ast.unparse(name).lower()


def _holds(part: ast.expr, back: ast.AST, kept: Kept, root: ast.AST) -> bool:
    """Whether a part that is kept carries the graph of the loss whose backward stands in the same loop."""
    loop = loop_around(back, root)
    around = set(ancestors(back, root))
    if loop is None or kept.loop not in around or exclusive(kept.at, back, root):
        return False
    names = {ast.unparse(name) for name in _backed(back, root)}
    for carrier in carriers(part):
        text = ast.unparse(carrier)
        made = bound_to(text, kept.at, root)
        if text in names and (made is None or _has_graph(made)):
            return True
    return False


def _has_graph(made: ast.expr) -> bool:
    """Whether what a name was bound to last can be a tensor with its graph, as far as the text tells."""
    if called(made) in (
        "item",
        "detach",
        "float",
        "tolist",
        "numpy",
        "reduce",
        "gather",
        "all_reduce",
        "reduce_value",
    ):
        return False
    return not mentions(
        made, "item", "detach", "data", "reduce_tensor", "reduce_mean", "reduce_dict", "reduce_loss"
    )
