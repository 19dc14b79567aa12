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
    functions_reaching,
    graph_is_off,
    made_by,
    operation_of,
    run_by,
    turns_of,
)
from stablelint.matchers.training.events import events_in
from stablelint.matchers.training.gathered import (
    Kept,
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
    loss_of,
    mentions,
    start,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.walk import descendants, nodes_in

# What yields a number, or a tensor without its graph: by itself, and wherever it stands in an expression.
_GATHERING = ("float", "tolist", "numpy", "reduce", "gather", "all_reduce", "reduce_value")
_LOSSES = having("loss")
_JOINED = "the tensor keeps the graph of every step"
_NUMBERS = ("item", "detach", "reduce_tensor", "reduce_mean", "reduce_dict", "reduce_loss")


@observes()
def graph_kept_in_list(review: Review, rule: Rule) -> Sites:
    """`losses.append(loss)` in the loop that runs `loss.backward()`, for a list that outlives the turn."""
    for root, backs in _training(review):
        for kept in kept_in(root, review.module):
            parts = [part for part in kept.parts if _is_loss(part, kept, backs, root, review)]
            known = known_collection(kept, root, review) if parts else None
            if (
                known is None
                or (kept.loop is root and not known)
                or is_emptied(kept)
                or _is_differentiated(kept, backs, root, review.module)
            ):
                continue
            for part in parts:
                message = _JOINED if kept.is_joined else None
                fixed = _to_detach(part, kept, backs, review.module)
                yield site_at(review, rule, part, fixed, shown=known, message=message, kind=Kind.TENSOR)
        for listed in nodes_in(root, ast.ListComp):
            if _gives_back_loss(listed.elt, review):
                yield site_at(review, rule, listed.elt, {"kept": listed.elt}, kind=Kind.TENSOR)


def _to_detach(part: ast.expr, kept: Kept, backs: list[ast.AST], module: ModuleInfo) -> dict[str, ast.expr]:
    """What a fix rewrites: the part itself, and nothing where that is a collection which holds the loss.

    What a step returns may be one as well, unless its backward is seen, or what it is computed by.
    """
    made = bound_to(spelled(part), kept.at, kept.loop)
    is_returned = all(isinstance(back, ast.Return) for back in backs)
    named = bound_to(spelled(made), kept.at, kept.loop) if isinstance(made, ast.Name) else None
    computed = named or made or part
    is_tensor = isinstance(computed, ast.BinOp) or bool(operation_of(computed, module))
    is_collection = made is not None and list(parts_of(made)) != [made]
    return {} if is_collection or (is_returned and not is_tensor) else {"kept": part}


def _training(review: Review) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The functions that may train, with their backward passes, or what a `training_step` of Lightning returns for one."""
    of_lightning = review.module.mentions("LightningModule")
    events = events_in(review)
    reaching = functions_reaching(review, "backward", "manual_backward") if events else []
    for root in functions_of(review) if of_lightning else dict.fromkeys((*reaching, *events)):
        is_hook = of_lightning and getattr(root, "name", "") == "training_step"
        backs = (e for e in events.get(root, ()) if e.kind == "backward")
        # A helper that is given the loss first goes backward where it is called.
        given = [e.at for e in backs if e.is_own or e.is_of_first]
        yield root, [*given, *(nodes_in(root, ast.Return) if is_hook else ())]


def _is_loss(part: ast.expr, kept: Kept, backs: list[ast.AST], root: ast.AST, review: Review) -> bool:
    """Whether a part that is kept carries the graph of a loss that the loop, or what it calls, goes backward from."""
    made = part if isinstance(part, ast.Call) else bound_to(spelled(part), kept.at, kept.loop)
    return _gives_back_loss(made, review) or any(
        _holds(part, back, kept, root, review.module) for back in backs
    )


def _is_differentiated(kept: Kept, backs: list[ast.AST], root: ast.AST, module: ModuleInfo) -> bool:
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


def _backed(back: ast.AST, root: ast.AST, module: ModuleInfo) -> Iterator[ast.expr]:
    """The names whose graph a backward runs through: the loss, and what it was added up from in this function."""
    given = loss_of(back)
    for name in (c for part in parts_of(given) for c in carriers(part)) if given is not None else ():
        yield name
        made = bound_to(spelled(name), back, root)
        if isinstance(made, ast.BinOp):
            yield from (c for c in carriers(made) if _is_made_in_loop(c, back, root, module))


def _is_made_in_loop(name: ast.expr, back: ast.AST, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether the loop around a backward computes a name by a loss, or a model: a weight or a count is not."""
    turns = turns_of(back, root, module)
    made = bound_to(spelled(name), back, root) if turns else None
    if made is None or made not in descendants(turns[0]):
        return False
    models = set(models_of(back, root, module))
    calls = list(calls_behind(made, made, root, module))
    return not models.isdisjoint(calls) or any(operation_of(n, module) in _LOSSES for n in calls)


def _holds(part: ast.expr, back: ast.AST, kept: Kept, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a part that is kept carries the graph of the loss whose backward stands in the same loop."""
    if kept.loop not in ancestors(back, root) or exclusive(kept.at, back, root):
        return False
    backed = {spelled(name) for name in _backed(back, root, module)}
    texts = backed.intersection(map(spelled, carriers(part)))
    return any(
        _has_graph(bound_to(text, kept.at, root), module) and not _is_read_out(text, back, kept, root, module)
        for text in texts
    )


def _is_read_out(text: str, back: ast.AST, kept: Kept, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a name is given a number after the backward, on one path or another: `loss = float(loss)`."""
    later = (one for one in assigned_in(text, root) if start(back) < start(one) < start(kept.at))
    return any(not _has_graph(one.value, module) for one in later)


def _has_graph(made: ast.expr | None, module: ModuleInfo) -> bool:
    """Whether what a name was bound to last can be a tensor with its graph, as far as the text tells."""
    if made is None or made_by(made, module).startswith("numpy."):
        return made is None
    cut = mentions(made, *_NUMBERS) or any(
        isinstance(n, ast.Attribute) and n.attr == "data" for n in descendants(made)
    )
    return called(made) not in _GATHERING and not cut


def _gives_back_loss(made: ast.expr | None, review: Review) -> bool:
    """Whether an expression calls a function that goes backward from a loss and returns it with its graph."""
    own = [f for f in review.module.sights.functions if f.name == called(made)]
    others = run_by(made, review.module, review.project) if isinstance(made, ast.Call) and not own else []
    for function in own or [f for f, _ in others]:
        backs = backs_in(function)
        backed = {spelled(part) for back in backs if (part := loss_of(back)) is not None}
        for given in (n.value for n in nodes_in(function, ast.Return)):
            if isinstance(given, ast.Name) and given.id in backed:
                if not any(start(n) > start(backs[0]) for n in assigned_in(given.id, function)):
                    return True
    return False


@observes()
def graph_kept(review: Review, rule: Rule) -> Sites:
    """`total += loss` in a loop, where `loss` has its own backward and `total` has none."""
    for root, backs in _training(review):
        for kept in totals_in(root, review.module):
            if is_begun_anew(kept) or _is_differentiated(kept, backs, root, review.module):
                continue
            if graph_is_off(kept.at, root):
                continue
            is_choice = _may_be_trained_on(kept, backs, root)
            for part in (p for p in kept.parts if _is_loss(p, kept, backs, root, review)):
                fixed = {} if is_choice else {"loss": part}
                yield site_at(review, rule, part, fixed, kind=Kind.TENSOR)


def _may_be_trained_on(kept: Kept, backs: list[ast.AST], root: ast.AST) -> bool:
    """Whether a total is returned that also grows where no backward has run: a caller may go backward from it."""
    around = set(ancestors(kept.at, root))
    branches = ({n for n in ancestors(b, root) if isinstance(n, ast.If)} for b in backs)
    is_returned = any(mentions(n, kept.base) for n in nodes_in(root, ast.Return))
    return is_returned and all(not each <= around for each in branches)
