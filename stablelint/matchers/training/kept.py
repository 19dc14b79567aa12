"""Graphs that a list or a running total keeps: of losses in a training loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Kind, Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import calls_behind, models_of
from stablelint.matchers.names import (
    assigned_in,
    bound_to,
    carriers,
    functions_of,
    graph_is_off,
    made_by,
    operation_of,
)
from stablelint.matchers.training.gathered import (
    Kept,
    additions,
    is_begun_anew,
    is_emptied,
    kept_in,
    known_collection,
    parts_of,
    totals_in,
)
from stablelint.matchers.tree import (
    ancestors,
    assigned,
    backs_in,
    called,
    exclusive,
    is_given,
    loop_around,
    mentions,
    receiver,
    start,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.walk import descendants, functions_below, nodes_in

# What yields a number, or a tensor without its graph: by itself, and wherever it stands in an expression.
_GATHERING = ("float", "tolist", "numpy", "reduce", "gather", "all_reduce", "reduce_value")
_LOSSES = having("loss")
_NUMBERS = ("item", "detach", "data", "reduce_tensor", "reduce_mean", "reduce_dict", "reduce_loss")


@observes()
def graph_kept_in_list(review: Review, rule: Rule) -> Sites:
    """`losses.append(loss)` in the loop that runs `loss.backward()`, for a list that outlives the turn."""
    for root in functions_of(review, "backward"):
        backs = backs_in(root)
        for kept in kept_in(root):
            parts = [part for part in kept.parts if _is_loss(part, kept, backs, root, review)]
            known = known_collection(kept, root, review) if parts else None
            if known is None or is_emptied(kept) or _is_differentiated(kept, backs, root, review.module):
                continue
            for part in parts:
                yield site_at(review, rule, part, {"kept": part}, shown=known, kind=Kind.TENSOR)
        for listed in nodes_in(root, ast.ListComp):
            if _gives_back_loss(listed.elt, review.module.source.tree):
                yield site_at(review, rule, listed.elt, {"kept": listed.elt}, kind=Kind.TENSOR)
    for root in functions_of(review, "LightningModule"):
        for part in _kept_by_hook(root, review.module):
            yield site_at(review, rule, part, {"kept": part}, kind=Kind.TENSOR)


def _kept_by_hook(root: ast.AST, module: ModuleInfo) -> Iterator[ast.expr]:
    """The loss that a `training_step` of Lightning returns, and puts into a list of its own besides."""
    if getattr(root, "name", "") != "training_step":
        return
    returned = {spelled(part) for n in nodes_in(root, ast.Return) if n.value for part in parts_of(n.value)}
    for node in nodes_in(root, ast.Call, ast.AugAssign):
        for into, held in additions(node):
            for part in parts_of(held) if spelled(into).startswith("self.") else ():
                if spelled(part) in returned and _has_graph(bound_to(spelled(part), node, root), module):
                    yield part


def _is_loss(part: ast.expr, kept: Kept, backs: list[ast.Call], root: ast.AST, review: Review) -> bool:
    """Whether a part that is kept carries the graph of a loss that the loop, or what it calls, goes backward from."""
    made = part if isinstance(part, ast.Call) else bound_to(spelled(part), kept.at, kept.loop)
    gives = _gives_back_loss(made, review.module.source.tree)
    return gives or any(_holds(part, back, kept, root, review.module) for back in backs)


def _is_differentiated(kept: Kept, backs: list[ast.Call], root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a loss is made of the collection, or the graphs are kept on purpose."""
    name = kept.base.rpartition(".")[2]
    if any(mentions(back, name) or is_given(back, "retain_graph") for back in backs):
        return True
    backed = {spelled(c) for back in backs for c in _backed(back, root, module)}
    for node in nodes_in(root, ast.Assign, ast.AugAssign):
        targets, made = assigned(node)
        if node is not kept.at and made is not None and backed & set(targets) and mentions(made, name):
            return True
    return False


def _backed(back: ast.Call, root: ast.AST, module: ModuleInfo) -> Iterator[ast.expr]:
    """The names whose graph a backward runs through: the loss, and what it was added up from in this function."""
    given = back.args[0] if back.args else receiver(back)
    while called(given) in ("scale", "scale_loss") and isinstance(given, ast.Call) and given.args:
        given = given.args[0]
    for name in carriers(given) if given is not None else ():
        yield name
        made = bound_to(spelled(name), back, root)
        if isinstance(made, ast.BinOp):
            yield from (c for c in carriers(made) if _is_made_in_loop(c, back, root, module))


def _is_made_in_loop(name: ast.expr, back: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether the loop around a backward computes a name by a loss, or a model: a weight or a count is not."""
    loop = loop_around(back, root)
    made = bound_to(spelled(name), back, root) if loop is not None else None
    if loop is None or made is None or made not in descendants(loop):
        return False
    models = set(models_of(back, root, module))
    calls = list(calls_behind(made, made, root, module))
    return not models.isdisjoint(calls) or any(operation_of(n, module) in _LOSSES for n in calls)


def _holds(part: ast.expr, back: ast.Call, kept: Kept, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a part that is kept carries the graph of the loss whose backward stands in the same loop."""
    if kept.loop not in ancestors(back, root) or exclusive(kept.at, back, root):
        return False
    backed = {spelled(name) for name in _backed(back, root, module)}
    texts = backed.intersection(map(spelled, carriers(part)))
    return loop_around(back, root) is not None and any(
        _has_graph(bound_to(text, kept.at, root), module) and not _is_read_out(text, back, kept, root, module)
        for text in texts
    )


def _is_read_out(text: str, back: ast.Call, kept: Kept, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a name is given a number after the backward, on one path or another: `loss = float(loss)`."""
    later = (one for one in assigned_in(text, root) if start(back) < start(one) < start(kept.at))
    return any(not _has_graph(one.value, module) for one in later)


def _has_graph(made: ast.expr | None, module: ModuleInfo) -> bool:
    """Whether what a name was bound to last can be a tensor with its graph, as far as the text tells."""
    if made is None or made_by(made, module).startswith("numpy."):
        return made is None
    return called(made) not in _GATHERING and not mentions(made, *_NUMBERS)


def _gives_back_loss(made: ast.expr | None, tree: ast.AST) -> bool:
    """Whether an expression calls a function of the file that goes backward from a loss and returns it with its graph."""
    for function in functions_below(tree) if made is not None else ():
        backs = backs_in(function) if function.name == called(made) else []
        backed = {spelled(part) for back in backs for part in (receiver(back) or back, *back.args)}
        for given in (n.value for n in nodes_in(function, ast.Return)):
            if isinstance(given, ast.Name) and given.id in backed:
                if not any(start(n) > start(backs[0]) for n in assigned_in(given.id, function)):
                    return True
    return False


@observes()
def graph_kept(review: Review, rule: Rule) -> Sites:
    """`total += loss` in a loop, where `loss` has its own backward and `total` has none."""
    for root in functions_of(review, "backward"):
        backs = backs_in(root)
        for kept in totals_in(root, review.module.source.tree):
            if is_begun_anew(kept) or _is_differentiated(kept, backs, root, review.module):
                continue
            if graph_is_off(kept.at, root):
                continue
            for part in (p for p in kept.parts if _is_loss(p, kept, backs, root, review)):
                yield site_at(review, rule, part, {"loss": part}, kind=Kind.TENSOR)
