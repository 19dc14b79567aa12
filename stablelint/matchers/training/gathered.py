"""What the loops of a function put into collections."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.matching.review import Review
from stablelint.matchers.names import (
    assigned_in,
    bound_to,
    called,
    receiver,
)
from stablelint.matchers.tree import loop_around
from stablelint.syntax.walk import nodes_below, nodes_in

_ADDING = frozenset(("append", "extend", "insert", "appendleft", "add"))
_COLLECTIONS = frozenset(("list", "dict", "defaultdict", "deque", "OrderedDict"))


class Kept:
    """An expression put into a collection in a loop: `collection.append(part)`."""

    def __init__(self, at: ast.AST, collection: ast.expr, parts: list[ast.expr], loop: ast.AST) -> None:
        self.at, self.collection, self.parts, self.loop = at, collection, parts, loop
        base: ast.expr = collection
        while isinstance(base, ast.Subscript) or (isinstance(base, ast.Call) and receiver(base) is not None):
            base = base.value if isinstance(base, ast.Subscript) else receiver(base) or base
        self.base = ast.unparse(base)


def kept_in(root: ast.AST) -> Iterator[Kept]:
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
        elif isinstance(node, ast.Assign) and _has_places(node.targets[0]):
            into, held = node.targets[0], node.value
        if into is not None and held is not None:
            yield Kept(node, into, list(_parts(held)), loop)


def _has_places(target: ast.expr) -> bool:
    """Whether a target is `kept[step]`, or `kept[step]["loss"]`; `kept["loss"]` holds what was put in last, and no more."""
    while isinstance(target, ast.Subscript):
        if not isinstance(target.slice, ast.Constant):
            return True
        target = target.value
    return False


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


def known_collection(kept: Kept, root: ast.AST, review: Review) -> bool | None:
    """Whether the text shows a collection that grows; None where it shows something else."""
    subscript = isinstance(kept.at, ast.Assign) and isinstance(kept.collection, ast.Subscript)
    bound = bound_to(kept.base, kept.at, root)
    if bound is None:
        found = [n.value for n in assigned_in(kept.base, root)] or [
            n.value
            for n in nodes_below(review.module.source.tree, ast.Assign, ast.AnnAssign)
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


def is_emptied(kept: Kept) -> bool:
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
