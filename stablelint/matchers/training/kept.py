"""Graphs that a list or a running total keeps: of losses in a training loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Kind
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import make_site, observed, scope_of, site_at
from stablelint.matchers.names import assigned_in, bound_to, called, carriers, functions_of, receiver
from stablelint.matchers.training.gathered import Kept, is_emptied, kept_in, known_collection
from stablelint.matchers.training.steps import steps_of
from stablelint.matchers.training.trained import backs_in, gives_back_loss
from stablelint.matchers.tree import ancestors, exclusive, loop_around, mentions, parents
from stablelint.syntax.walk import descendants, nodes_in

# What yields a number, or a tensor without its graph: by itself, and wherever it stands in an expression.
_GATHERING = ("float", "tolist", "numpy", "reduce", "gather", "all_reduce", "reduce_value")
_NUMBERS = ("item", "detach", "data", "reduce_tensor", "reduce_mean", "reduce_dict", "reduce_loss")


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
    return called(made) not in _GATHERING and not mentions(made, *_NUMBERS)


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
        if loop is None or _is_total_backed(total, root) or _is_number(loss, value.node, loop):
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


def _is_total_backed(total: str, root: ast.AST) -> bool:
    """Whether the sum itself goes backward."""
    texts = [ast.unparse(part) for back in backs_in(root) for part in (receiver(back) or back, *back.args)]
    return any(total == text or f"({total}" in text or text.startswith(f"{total} ") for text in texts)


def _is_begun_anew(total: str, loop: ast.AST) -> bool:
    """Whether a turn of the loop sets the total to something else again: what it keeps goes then."""
    return any(not mentions(n.value or n, total.rpartition(".")[2]) for n in assigned_in(total, loop))


def _is_number(loss: str, before: ast.AST, loop: ast.AST) -> bool:
    """Whether the loop turns the loss into a number before it is added."""
    made = bound_to(loss, before, loop)
    return made is not None and not _has_graph(made)
