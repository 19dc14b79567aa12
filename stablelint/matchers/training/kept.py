"""Graphs that a list keeps: of losses in a training loop, of outputs in an evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Kind
from stablelint.matchers.common import site_at
from stablelint.matchers.names import (
    CARRYING,
    assigned_in,
    bound_to,
    called,
    carriers,
    functions_of,
    graph_is_off,
    is_namespace,
    receiver,
)
from stablelint.matchers.tree import ancestors, exclusive, loop_around, mentions, nodes_in, start
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_ADDING = frozenset(("append", "extend", "insert", "appendleft", "add"))
_COLLECTIONS = frozenset(("list", "dict", "defaultdict", "deque", "OrderedDict"))


class _Kept:
    """An expression put into a collection in a loop: `collection.append(part)`."""

    def __init__(self, at: ast.AST, collection: ast.expr, parts: list[ast.expr], loop: ast.AST) -> None:
        self.at, self.collection, self.parts, self.loop = at, collection, parts, loop
        base: ast.expr = collection
        while isinstance(base, ast.Subscript) or (isinstance(base, ast.Call) and receiver(base) is not None):
            base = base.value if isinstance(base, ast.Subscript) else receiver(base) or base
        self.base = ast.unparse(base)


@observes()
def graph_kept_in_list(review: Review, rule: Rule) -> Iterator[Site]:
    """`losses.append(loss)` in the loop that runs `loss.backward()`, for a list that outlives the turn."""
    for root in functions_of(review, "backward"):
        backs = [n for n in nodes_in(root, ast.Call) if called(n) in ("backward", "manual_backward")]
        for kept in _kept_in(root) if backs else ():
            known = _known_collection(kept, root, review)
            if known is None or _is_emptied(kept) or _is_differentiated(kept, backs, root):
                continue
            for part in kept.parts:
                if any(_holds(part, back, kept, root) for back in backs):
                    yield site_at(review, rule, part, {"kept": part}, shown=known, kind=Kind.TENSOR)


def _kept_in(root: ast.AST) -> Iterator[_Kept]:
    """What the loops of a function put into collections."""
    for node in nodes_in(root, ast.Call, ast.AugAssign, ast.Assign):
        loop = loop_around(node, root)
        if loop is None:
            continue
        into, held = receiver(node), None
        if isinstance(node, ast.Call) and called(node) in _ADDING and node.args:
            held = node.args[-1]
        elif isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List | ast.Tuple):
            into, held = node.target, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            joins = isinstance(node.value.right, ast.List) and ast.unparse(node.value.left)
            if joins == ast.unparse(node.targets[0]):
                into, held = node.value.left, node.value.right
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            into, held = node.targets[0], node.value
        if into is not None and held is not None:
            yield _Kept(node, into, list(_parts(held)), loop)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of what is put in, through tuples, lists and dicts."""
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _parts(element)
    elif isinstance(node, ast.Dict):
        for element in node.values:
            yield from _parts(element)
    else:
        yield node


def _known_collection(kept: _Kept, root: ast.AST, review: Review) -> bool | None:
    """Whether the text shows a collection that grows; None where it shows something else."""
    subscript = isinstance(kept.at, ast.Assign) and isinstance(kept.collection, ast.Subscript)
    bound = bound_to(kept.base, kept.at, root)
    if bound is None:
        found = [n.value for n in assigned_in(kept.base, root)] or [
            n.value
            for n in descendants(review.module.source.tree)
            if isinstance(n, ast.Assign | ast.AnnAssign)
            and kept.base in map(ast.unparse, n.targets if isinstance(n, ast.Assign) else [n.target])
        ]
        bound = next((value for value in found if value is not None), None)
    if bound is None:
        return None if subscript else False
    if isinstance(bound, ast.List | ast.Dict | ast.ListComp | ast.DictComp | ast.BinOp):
        return True
    if called(bound) in _COLLECTIONS and isinstance(bound, ast.Call):
        return None if any(k.arg == "maxlen" for k in bound.keywords) or len(bound.args) > 1 else True
    return None


def _is_emptied(kept: _Kept) -> bool:
    """Whether the loop that fills the collection makes it anew, empties it, or cuts it."""
    for node in nodes_in(kept.loop, ast.Assign, ast.AnnAssign, ast.Delete, ast.Call):
        if node is kept.at:
            continue
        if isinstance(node, ast.Call):
            of = receiver(node)
            if (
                called(node) in ("clear", "pop", "popleft")
                and of is not None
                and kept.base in ast.unparse(of)
            ):
                return True
        elif isinstance(node, ast.Delete):
            if any(kept.base in ast.unparse(target) for target in node.targets):
                return True
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            texts = [ast.unparse(t.value if isinstance(t, ast.Subscript) else t) for t in targets]
            cut = isinstance(targets[0], ast.Subscript) and not isinstance(targets[0].slice, ast.Slice)
            if kept.base in texts and not (cut and node.value is not None and not _is_empty(node.value)):
                return True
    return False


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Dict) or called(node) in _COLLECTIONS


def _is_differentiated(kept: _Kept, backs: list[ast.AST], root: ast.AST) -> bool:
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


def _holds(part: ast.expr, back: ast.AST, kept: _Kept, root: ast.AST) -> bool:
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


@observes()
def evaluation_keeps_graph(review: Review, rule: Rule) -> Iterator[Site]:
    """`outputs.append(model(x))`, or `model(x)` alone, in an evaluation that records the graph of each batch."""
    for root in functions_of(review, ".eval()"):
        evaluated = [n for n in nodes_in(root, ast.Call) if called(n) == "eval" and not _arguments(n)]
        if not evaluated or _trains(root) or _is_called_without_graph(root, review):
            continue
        models = {ast.unparse(of) for n in evaluated if (of := receiver(n)) is not None}
        gathered = list(_gathered(models, root, review))
        for part, joined in gathered:
            kind = Kind.TENSOR if joined else Kind.UNKNOWN
            yield site_at(review, rule, part, {"kept": part}, shown=False, kind=kind)
        if not gathered and not mentions(root, "detach"):
            calls = (n for n in nodes_in(root, ast.Call) if isinstance(n, ast.Call) and _is_of(n, models))
            recorded = [
                n
                for n in calls
                if loop_around(n, root) and not graph_is_off(n, root) and not _is_cut(n, root)
            ]
            for call in sorted(recorded, key=start)[:1]:
                message = "evaluation records a graph for each batch: no_grad is missing"
                yield site_at(review, rule, call, shown=False, message=message)


def _gathered(models: set[str], root: ast.AST, review: Review) -> Iterator[tuple[ast.expr, bool]]:
    """Outputs of the models that loops put into collections, and whether those are joined to one tensor."""
    for kept in _kept_in(root):
        off = graph_is_off(kept.at, root)
        if off or _known_collection(kept, root, review) is None or _is_emptied(kept):
            continue
        for part in kept.parts:
            source = _output_of(part, models, kept.at, root)
            if source is not None and not graph_is_off(source, root):
                yield part, _is_joined(kept, root)


def _is_cut(call: ast.Call, root: ast.AST) -> bool:
    """Whether a method takes something of the result at once: `model(x).argmax(1)`."""
    return isinstance(next(ancestors(call, root), None), ast.Attribute)


def _is_of(call: ast.Call, models: set[str]) -> bool:
    return ast.unparse(call.func).removesuffix(".forward") in models


def _is_joined(kept: _Kept, root: ast.AST) -> bool:
    """Whether the collection is joined to one tensor afterwards: its elements are tensors."""
    joins = (
        n for n in nodes_in(root, ast.Call) if called(n) in ("cat", "stack", "concat", "vstack", "hstack")
    )
    return any(kept.base == ast.unparse(n.args[0]) for n in joins if isinstance(n, ast.Call) and n.args)


def _arguments(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _trains(root: ast.AST) -> bool:
    return mentions(root, "backward", "grad", "requires_grad_", "requires_grad", "set_grad_enabled", "train")


def _is_called_without_graph(root: ast.AST, review: Review) -> bool:
    """Whether the file calls the function under `no_grad`, or switches recording off for good."""
    tree = review.module.source.tree
    if "set_grad_enabled(False)" in review.module.source.text:
        return True
    name = getattr(root, "name", "")
    return any(
        called(n) == name and graph_is_off(n, tree)
        for n in descendants(tree)
        if name and isinstance(n, ast.Call)
    )


def _output_of(part: ast.expr, models: set[str], at: ast.AST, root: ast.AST) -> ast.expr | None:
    """The call of an evaluated model whose graph a part carries."""
    node: ast.expr | None = part
    while node is not None:
        if isinstance(node, ast.Name):
            node = bound_to(node.id, at, root)
            at = at if node is None else node  # `out = out.cpu()` was another before
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and _is_of(node, models):
            return node
        elif called(node) in CARRYING and isinstance(node, ast.Call):
            of = receiver(node)
            node = (node.args[0] if node.args else None) if is_namespace(of) else of
        else:
            return None
    return None
